//! One run at a time, and what one that was killed left behind.
//!
//! The kernel removes the devices of a process with it. What may be left are a device that was
//! being made in that moment, and a RAM disk: both are removed by the next run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use squall_tools::Failure;
use squall_tools::failure::at;
use squall_tools::output::in_a_line;

use crate::mapper::{Control, PREFIX};
use crate::ram::Ram;

/// Locked by who runs; holds what it must not leave behind. It is gone with the next boot, as
/// all of that is.
const RECORD: &str = "/run/squall-dmcrypt";

/// The right to run, alone.
#[derive(Debug)]
pub struct Session {
    record: File,
    /// The device mapper.
    pub control: Rc<Control>,
}

impl Session {
    /// Begins a run: opens the device mapper, and removes what another left that was killed.
    pub fn begin() -> Result<Session, Failure> {
        let control = Rc::new(Control::open()?);
        let record = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(RECORD)
            .map_err(at(Path::new(RECORD)))?;
        match flock(&record, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                return Err(Failure::Runtime(
                    "another `squall dmcrypt` is at work, which would be measured with this one: \
                     wait for its end"
                        .into(),
                ));
            }
            locked => locked.map_err(|error| at(Path::new(RECORD))(error.into()))?,
        }
        let session = Session { record, control };
        session.clean()?;
        Ok(session)
    }

    /// Removes what is left of a run that was killed.
    fn clean(&self) -> Result<(), Failure> {
        for name in self.control.names()? {
            if name.starts_with(PREFIX) {
                // Somebody else may have it open: then it goes with them.
                let _ = self.control.remove(&name);
            }
        }
        let mut left = String::new();
        (&self.record)
            .read_to_string(&mut left)
            .map_err(at(Path::new(RECORD)))?;
        match Ram::unload_left(&left) {
            Ok(()) => self.note(""),
            // It is in nobody's way but of the next RAM disk.
            Err(failure) => {
                tell(&failure.into_text());
                Ok(())
            }
        }
    }

    /// Notes what the next run is to know if this one is killed: nothing, or what [`Ram::make`] has to
    /// say.
    pub fn note(&self, text: &str) -> Result<(), Failure> {
        let mut record = &self.record;
        let mut note = || {
            record.set_len(0)?;
            record.rewind()?;
            record.write_all(text.as_bytes())
        };
        note().map_err(at(Path::new(RECORD)))
    }
}

/// Tells of what does not keep a run from its work.
pub fn tell(text: &str) {
    // Standard error may be closed; then there is nobody to tell.
    let _ = writeln!(io::stderr(), "note: {}", in_a_line(text));
}
