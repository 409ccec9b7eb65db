//! Sources in children made of this program: what a source sets holds for a whole process, so
//! that it has one of its own; and first bytes, forks and pipes need new ones.

use std::process::Command;

use squall_tools::Failure;

use crate::process::{self, Fill, PROGRAM};
use crate::remote::{self, Remote};
use crate::sources::{self, Entry, Setting};

/// Names the source that a child serves. No argument, as it is no part of the command's interface.
const VARIABLE: &str = "SQUALL_BENCH_SOURCE";

/// Starts a child that serves the source named `name`, with `setting` in its environment.
pub fn start(name: &str, setting: Setting) -> Result<Remote, Failure> {
    let mut command = Command::new(PROGRAM);
    command.arg("bench").env(VARIABLE, name);
    match setting {
        Setting::None => &mut command,
        Setting::Variable(name, value) => command.env(name, value),
        Setting::Preload => {
            let (name, value) = sources::doors::preload().map_err(Failure::Runtime)?;
            command.env(name, value)
        }
    };
    Remote::start(command)
}

/// Does what this process was started for, if it is a child; else none.
pub fn serve() -> Option<Result<(), Failure>> {
    if let Some(child) = process::this_process() {
        return Some(process::serve(&child, lookup));
    }
    let name = std::env::var(VARIABLE).ok()?;
    let found = sources::find(&name).ok_or_else(|| Failure::Usage(format!("no source {name:?}")));
    Some(found.and_then(|entry| remote::serve((entry.open)())))
}

/// A source that opens itself in its first draw, which is what a program does that needs it.
///
/// Its library is loaded before, as it is where a program is linked with it.
fn lookup(name: &str) -> Option<Fill> {
    let entry: &Entry = sources::find(name)?;
    match name {
        "openssl-rand" => drop(sources::libcrypto::version()),
        "libsodium" => drop(sources::sodium::version()),
        _ => {}
    }
    let open = || (entry.open)().ok();
    let mut source = None;
    Some(Box::new(move |out| {
        if source.is_none() {
            source = open();
        }
        // Who gives nothing is found out by who looks at the bytes.
        let _ = source.as_mut().map(|source| source.fill(out));
    }))
}
