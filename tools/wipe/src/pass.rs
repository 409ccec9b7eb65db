//! The two halves of a pass: every byte of a target is overwritten, and what was written is read back and compared.

use squall_drives::io::{Buffer, Device, Direction};
use squall_tool_base::failure::cause;

use crate::content::Content;
use crate::pipeline::{Pipeline, buffer};
use crate::progress::{EventKind, EventSender, Progress};
use crate::ranges::{Differences, Ranges};
use crate::record::{Extent, Verification};
use crate::task::{Stop, Task};

/// Saves the offset that a pass has reached, and what was refused, so that they survive a power cut.
pub type SaveWritten<'a> = &'a mut dyn FnMut(u64, &Ranges);

/// Overwrites `pipeline`'s target with `content` from `from` on. `unwritten` is what the drive has
/// refused before.
pub fn write(
    pipeline: &mut Pipeline<'_>,
    content: &mut Content,
    from: u64,
    unwritten: Ranges,
    save: SaveWritten<'_>,
) -> Result<(), Stop> {
    let region = Extent::new(from, pipeline.open.device.target().identity.size - from);
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
    save: SaveWritten<'a>,
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

/// Saves the offset that a verification has reached, and what it found.
pub type SaveFound<'a> = &'a mut dyn FnMut(u64, &Found);

#[derive(Clone, Debug, Default)]
pub struct Found {
    pub compared: u64,
    pub differences: Differences,
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
    save: SaveFound<'_>,
) -> Result<(), Stop> {
    let dropped = pipeline.open.device.drop_cached_pages();
    dropped.map_err(|error| Stop::Failed(format!("page cache: {}", cause(&error))))?;
    let mut task = Comparing {
        events: pipeline.events,
        progress: pipeline.open.progress,
        content,
        expected: buffer()?,
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
    save: SaveFound<'a>,
}

impl Task for Comparing<'_> {
    const DIRECTION: Direction = Direction::Read;

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
