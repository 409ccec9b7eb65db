//! Writes to standard output: copes with a reader who leaves, and reports a full disk.

use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use serde::Serialize;

use crate::failure::Failure;
use crate::inherited;

/// Fails if standard output is closed or read-only: the text would be lost, and the standard library
/// would report success.
pub fn check() -> Result<(), Failure> {
    let takes_bytes = || {
        let flags = rustix::fs::fcntl_getfl(rustix::stdio::stdout())?;
        Ok::<_, io::Error>(flags & OFlags::ACCMODE != OFlags::RDONLY)
    };
    if !inherited::has_no_stdout() && takes_bytes().unwrap_or(false) {
        return Ok(());
    }
    Err(Failure::Runtime(
        "standard output is closed or not writable: redirect it to a file or a pipe".into(),
    ))
}

pub fn print(text: &str) -> Result<(), Failure> {
    check()?;
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::of_write("standard output", &error))
}

/// The terminal's width in columns; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    Some(size_of(rustix::stdio::stdout())?.0)
}

/// Like [`width`], for standard error.
pub fn error_width() -> Option<usize> {
    Some(error_size()?.0)
}

/// Columns and lines of the terminal that is standard error.
pub fn error_size() -> Option<(usize, usize)> {
    size_of(rustix::stdio::stderr())
}

/// Columns and lines of a terminal that knows how wide it is.
fn size_of(output: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(output).ok()?;
    Some((size.ws_col.into(), size.ws_row.into())).filter(|(columns, _)| *columns > 0)
}

/// Whether nobody can read `output` any more: its pipe has no reader, or its terminal is gone.
pub fn is_lost(output: impl AsFd) -> bool {
    let mut polled = [PollFd::new(&output, PollFlags::empty())];
    let is_answered = poll(&mut polled, Some(&Timespec::default())).is_ok();
    is_answered
        && polled[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Prints `report` as an indented JSON object and a newline.
pub fn print_json(report: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(report)
        .map_err(|error| Failure::Runtime(format!("report: {error}")))?;
    print(&(json + "\n"))
}
