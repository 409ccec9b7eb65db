//! Runs the drive's own erase before it is overwritten.

use jiff::Timestamp;

use super::Worker;
use crate::event::EventKind;
use crate::purge;
use crate::record::{Drive, Purge};
use crate::task::Stop;

impl Worker<'_> {
    /// Has the drive erase itself, if that was asked for and is not done yet. Afterwards its
    /// contents are unknown, even if the erase failed, and it is to be overwritten.
    pub(super) fn purge(&self) -> Result<(), Stop> {
        let is_left = |drive: &mut Drive| {
            let purge = drive.purge.as_ref()?;
            (purge.ended.is_none() && drive.passes.is_empty()).then_some(purge.means)
        };
        let Some(means) = self.update(is_left) else {
            return Ok(());
        };
        if self.interrupt.is_noted() {
            return Err(Stop::Interrupted);
        }
        let began = Some(Timestamp::now());
        self.record(Purge {
            began,
            ..Purge::asked(means)
        });
        self.events.send(EventKind::Purge { means });
        let failure = purge::purge(self.target, self.device.file(), means).err();
        if !self.target.is_attached() {
            return Err(Stop::Vanished);
        }
        self.record(Purge {
            means,
            began,
            ended: Some(Timestamp::now()),
            failure: failure.clone(),
        });
        self.events.send(EventKind::Purged { means, failure });
        let is_same = self.target.confirm(self.device.file());
        is_same.map_err(|failure| Stop::Failed(failure.into_text()))
    }

    fn record(&self, purge: Purge) {
        self.update(|drive| drive.purge = Some(purge));
        self.save();
    }
}
