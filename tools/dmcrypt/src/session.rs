//! Allows one run at a time, and cleans up after a run that was killed.
//!
//! The kernel removes a process's devices when the process ends. Only a device that was just being
//! made and a RAM disk may remain; the next run removes both.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use squall_tool_base::failure::at;
use squall_tool_base::text::in_a_line;
use squall_tool_base::{Failure, terminal};

use crate::mapper::{Control, PREFIX};
use crate::ram::Ram;

/// The lock file of a run. It holds the note about a RAM disk that the run may leave behind; like the
/// disk, it is gone after a reboot.
const RECORD: &str = "/run/squall-dmcrypt";

/// The lock that only one run holds at a time.
#[derive(Debug)]
pub struct Session {
    record: File,
    pub control: Rc<Control>,
}

impl Session {
    /// Begins a run: opens the device mapper, takes the lock, and cleans up after a killed run.
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
                    "another `squall dmcrypt` is running, and the two would disturb each other: \
                     wait until it ends"
                        .into(),
                ));
            }
            locked => locked.map_err(|error| at(Path::new(RECORD))(error.into()))?,
        }
        let session = Session { record, control };
        session.clean()?;
        Ok(session)
    }

    /// Removes what a killed run left behind.
    fn clean(&self) -> Result<(), Failure> {
        for name in self.control.names()? {
            if name.starts_with(PREFIX) {
                // If somebody else has it open, the kernel removes it when they close it.
                let _ = self.control.remove(&name);
            }
        }
        let mut left = String::new();
        (&self.record)
            .read_to_string(&mut left)
            .map_err(at(Path::new(RECORD)))?;
        match Ram::unload_leftover(&left) {
            Ok(()) => self.note(""),
            // A leftover matters only to the next RAM disk.
            Err(failure) => {
                print_note(&failure.into_text());
                Ok(())
            }
        }
    }

    /// Replaces the note that the next run reads if this one is killed; see [`Ram::make`].
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

/// Prints a note about something that does not stop the run.
pub fn print_note(text: &str) {
    // If standard error is closed, the note is lost.
    let _ = writeln!(io::stderr(), "note: {}", in_a_line(text));
}

/// A progress bar, removed when dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// Shows a bar of `steps` steps, labelled `title`.
    pub fn begin(steps: u64, title: String) -> Progress {
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{prefix}: {percent}% {wide_bar} {msg:<24} {eta}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars(terminal::bar_characters()));
        }
        bar.set_prefix(title);
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress(bar)
    }

    /// Moves the bar to `steps` finished steps; `what` names the last one.
    pub fn reach(&self, steps: u64, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.set_position(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
