//! What is on a target, read from the medium and compared with what was written.

use squall_drives::io::{Buffer, Direction};
use squall_tools::failure::cause;

use crate::content::Content;
use crate::event::{Teller, What};
use crate::gauge::Gauge;
use crate::pipeline::{Lane, Stop, TRANSFER, Task};
use crate::ranges::{Differences, Ranges};
use crate::record::{Extent, Verification};

/// Keeps how far a verification is.
pub type Save<'a> = &'a mut dyn FnMut(u64, &Found);

/// What was found so far.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Bytes that were compared.
    pub compared: u64,
    /// Those that differ.
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

    /// `record` with what was found.
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

/// Compares `regions` of `lane`'s target with `content`; `found` is what was found before.
pub fn compare(
    lane: &mut Lane<'_>,
    content: &mut Content,
    regions: &[Extent],
    found: Found,
    save: Save<'_>,
) -> Result<(), Stop> {
    let dropped = lane.device.forget();
    dropped.map_err(|error| Stop::Failed(format!("page cache: {}", cause(&error))))?;
    let mut task = Comparing {
        teller: lane.teller,
        gauge: lane.gauge,
        content,
        expected: Buffer::new(TRANSFER),
        found,
        save,
    };
    lane.run(regions, &mut task)
}

struct Comparing<'a> {
    teller: &'a Teller,
    gauge: &'a Gauge,
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
            self.teller.tell(What::Differing(extent));
        }
        self.gauge.differing(self.found.differences.bytes - before);
        self.found.compared += bytes.len() as u64;
    }

    fn refused(&mut self, sector: Extent) {
        self.found.unreadable.add(sector);
        self.teller.tell(What::Unreadable(sector));
    }

    fn checkpoint(&mut self, offset: u64) -> Result<(), Stop> {
        (self.save)(offset, &self.found);
        self.teller.tell(What::Checkpoint { offset });
        Ok(())
    }
}
