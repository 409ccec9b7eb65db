//! The work of a child process: one experiment, or serving a source.

use squall_tools::{Failure, output};

use crate::battery::testu01;
use crate::child::{Child, Work};
use crate::process::{first_bytes, forks, pipe};
use crate::remote;
use crate::sources::Opened;
use crate::unopened::Unopened;

/// Does the work of `child`, with the source that `open` gives.
///
/// # Errors
/// There is no such source, it did nothing, or the process could not do its work.
pub fn run(child: &Child, open: fn(&str) -> Opened) -> Result<(), Failure> {
    let mut source = Unopened::new(&child.source, open);
    let nanoseconds = match child.work {
        Work::FirstBytes => first_bytes::time(&mut source, child.bytes)?,
        Work::Forks => forks::time(&mut source, child.bytes)?,
        Work::Pipe => return pipe::write_blocks(&mut source, child.bytes),
        Work::Serve => return remote::serve(open(&child.source)),
        Work::TestU01 => return testu01::run(),
    };
    output::print(&format!("{nanoseconds}\n"))
}
