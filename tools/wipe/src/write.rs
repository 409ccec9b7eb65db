//! One pass, which overwrites every byte of a target.

use squall_drives::io::{Device, Direction};
use squall_tools::failure::cause;

use crate::content::Content;
use crate::event::{EventKind, EventSender};
use crate::pipeline::Pipeline;
use crate::ranges::Ranges;
use crate::record::Extent;
use crate::task::{Stop, Task};

/// Saves the offset that a pass has reached, and what was refused, so that they survive a power cut.
pub type Save<'a> = &'a mut dyn FnMut(u64, &Ranges);

/// Overwrites `pipeline`'s target with `content` from `from` on. `unwritten` is what the drive has
/// refused before.
pub fn pass(
    pipeline: &mut Pipeline<'_>,
    content: &mut Content,
    from: u64,
    unwritten: Ranges,
    save: Save<'_>,
) -> Result<(), Stop> {
    let region = Extent {
        offset: from,
        length: pipeline.open.target.identity.size - from,
    };
    let mut task = Writing {
        device: pipeline.open.device,
        events: pipeline.events,
        content,
        unwritten,
        save,
    };
    for buffer in &mut pipeline.buffers {
        task.begin(buffer);
    }
    pipeline.run(&[region], &mut task)
}

struct Writing<'a> {
    device: &'a Device,
    events: &'a EventSender,
    content: &'a mut Content,
    unwritten: Ranges,
    save: Save<'a>,
}

impl Task for Writing<'_> {
    const DIRECTION: Direction = Direction::Write;

    fn begin(&mut self, buffer: &mut [u8]) {
        if self.content.is_constant() {
            self.content.fill(0, buffer);
        }
    }

    fn prepare(&mut self, offset: u64, bytes: &mut [u8]) {
        if !self.content.is_constant() {
            self.content.fill(offset, bytes);
        }
    }

    fn done(&mut self, _: u64, _: &[u8]) {}

    fn refused(&mut self, sector: Extent) {
        self.unwritten.add(sector);
        self.events.send(EventKind::Unwritten(sector));
    }

    fn checkpoint(&mut self, offset: u64) -> Result<(), Stop> {
        let flushed = self.device.flush();
        flushed.map_err(|error| Stop::Unflushed(format!("flush: {}", cause(&error))))?;
        (self.save)(offset, &self.unwritten);
        self.events.send(EventKind::Checkpoint { offset });
        Ok(())
    }
}
