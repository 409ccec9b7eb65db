//! Reads a target from the medium and compares it with what was written.

use squall_drives::io::{Buffer, Direction};
use squall_tools::failure::cause;

use crate::content::Content;
use crate::event::{EventKind, EventSender};
use crate::pipeline::{Pipeline, TRANSFER};
use crate::progress::Progress;
use crate::ranges::{Differences, Ranges};
use crate::record::{Extent, Verification};
use crate::task::{Stop, Task};

/// Saves the offset that a verification has reached, and what it found.
pub type Save<'a> = &'a mut dyn FnMut(u64, &Found);

/// What a verification has found so far.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Bytes that were compared.
    pub compared: u64,
    /// Bytes that differ.
    pub differences: Differences,
    /// Bytes that could not be read.
    pub unreadable: Ranges,
}

impl Found {
    /// What `record` says was found before its offset.
    pub fn resumed(record: &Verification) -> Found {
        Found {
            compared: record.compared,
            differences: Differences::resumed(
                &record.differing,
                record.differing_bytes,
                record.differing_unlisted,
            ),
            unreadable: Ranges::before(&record.unreadable, record.offset),
        }
    }

    /// `record`, updated with what was found.
    pub fn onto(&self, record: Verification) -> Verification {
        Verification {
            compared: self.compared,
            differing_bytes: self.differences.bytes,
            differing: self.differences.extents(),
            differing_unlisted: self.differences.unlisted,
            unreadable: self.unreadable.extents(),
            ..record
        }
    }
}

/// Compares `regions` of `pipeline`'s target with `content`. `found` is what was found before.
pub fn compare(
    pipeline: &mut Pipeline<'_>,
    content: &mut Content,
    regions: &[Extent],
    found: Found,
    save: Save<'_>,
) -> Result<(), Stop> {
    let dropped = pipeline.open.device.drop_cached_pages();
    dropped.map_err(|error| Stop::Failed(format!("page cache: {}", cause(&error))))?;
    let mut task = Comparing {
        events: pipeline.events,
        progress: pipeline.open.progress,
        content,
        expected: Buffer::new(TRANSFER),
        found,
        save,
    };
    pipeline.run(regions, &mut task)
}

struct Comparing<'a> {
    events: &'a EventSender,
    progress: &'a Progress,
    content: &'a mut Content,
    expected: Buffer,
    found: Found,
    save: Save<'a>,
}

impl Task for Comparing<'_> {
    const DIRECTION: Direction = Direction::Read;

    fn prepare(&mut self, _: u64, _: &mut [u8]) {}

    fn done(&mut self, offset: u64, bytes: &[u8]) {
        let expected = &mut self.expected[..bytes.len()];
        self.content.fill(offset, expected);
        let before = self.found.differences.bytes;
        for extent in self.found.differences.compare(offset, bytes, expected) {
            self.events.send(EventKind::Differing(extent));
        }
        self.progress
            .differing(self.found.differences.bytes - before);
        self.found.compared += bytes.len() as u64;
    }

    fn refused(&mut self, sector: Extent) {
        self.found.unreadable.add(sector);
        self.events.send(EventKind::Unreadable(sector));
    }

    fn checkpoint(&mut self, offset: u64) -> Result<(), Stop> {
        (self.save)(offset, &self.found);
        self.events.send(EventKind::Checkpoint { offset });
        Ok(())
    }
}
