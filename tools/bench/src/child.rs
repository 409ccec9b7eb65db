//! This program as its own child. What a source sets holds for a whole process, so that it has one of
//! its own; and first bytes, forks and pipes need new ones.
//!
//! Run as `squall bench` with an environment variable, it does one thing and ends.

use std::process::{self, Command};

use serde::{Deserialize, Serialize};
use squall_tools::places::{self, PRELOAD};
use squall_tools::{Failure, output};

use crate::process::{first_bytes, forks, pipe};
use crate::remote::{self, Remote};
use crate::source::Source;
use crate::sources::{self, Opened, Setting};
use crate::statistics::battery::testu01;

/// Tells a child what to do. No argument, as it is no part of the command's interface.
const VARIABLE: &str = "SQUALL_BENCH_CHILD";

/// The source that does nothing: what an experiment costs without a source.
pub const NOTHING: &str = "nothing";

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Draw so many bytes, once.
    FirstBytes,
    /// Fork, with children that draw so many bytes.
    Forks,
    /// Write blocks of so many bytes to standard output, until nobody reads them.
    Pipe,
    /// Serve the source: see [`remote`].
    Serve,
    /// Run TestU01 on standard input.
    TestU01,
}

/// A child of this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// What it does.
    pub work: Work,
    /// The name of the source.
    pub source: String,
    /// Bytes of a draw.
    pub bytes: usize,
}

/// This very program, even if a build has replaced its file since.
pub fn this_program() -> Command {
    Command::new(format!("/proc/{}/exe", process::id()))
}

impl Child {
    pub fn new(work: Work, source: &str, bytes: usize) -> Child {
        let source = source.to_owned();
        Child {
            work,
            source,
            bytes,
        }
    }

    /// What this process is to do, if it was started as a child.
    pub fn this_process() -> Option<Child> {
        serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()
    }

    /// The command that starts this program as this child.
    pub fn command(&self) -> Command {
        let mut command = this_program();
        let text = serde_json::to_string(self).expect("a name and a number");
        command.arg("bench").env(VARIABLE, text);
        command
    }

    /// Does what the child is to do, with the source that `open` gives.
    ///
    /// # Errors
    /// There is no such source, it did nothing, or the process could not do its work.
    pub fn serve(&self, open: fn(&str) -> Opened) -> Result<(), Failure> {
        let mut source = Unopened::new(&self.source, open);
        let nanoseconds = match self.work {
            Work::FirstBytes => first_bytes::time(&mut source, self.bytes)?,
            Work::Forks => forks::time(&mut source, self.bytes)?,
            Work::Pipe => return pipe::write_blocks(&mut source, self.bytes),
            Work::Serve => return remote::serve(open(&self.source)),
            Work::TestU01 => return testu01::run(),
        };
        output::print(&format!("{nanoseconds}\n"))
    }
}

/// Starts a child that serves the source named `name`, with `setting` in its environment.
pub fn start(name: &str, setting: Setting) -> Result<Remote, Failure> {
    let mut command = Child::new(Work::Serve, name, 0).command();
    match setting {
        Setting::None => &mut command,
        Setting::Variable(name, value) => command.env(name, value),
        Setting::Preload => command.env("LD_PRELOAD", places::find(PRELOAD, None)?),
    };
    Remote::start(command)
}

/// A source that opens itself in its first draw, which is what a program does that needs it.
///
/// Its library is loaded before, as it is where a program is linked with it.
pub struct Unopened {
    name: String,
    open: fn(&str) -> Opened,
    source: Option<Box<dyn Source>>,
}

impl Unopened {
    fn new(name: &str, open: fn(&str) -> Opened) -> Unopened {
        match name {
            "openssl-rand" => drop(sources::libcrypto::version()),
            "libsodium" => drop(sources::libraries::sodium_version()),
            _ => {}
        }
        let (name, source) = (name.to_owned(), None);
        Unopened { name, open, source }
    }

    /// Whether it draws at all.
    pub fn is_nothing(&self) -> bool {
        self.name == NOTHING
    }

    pub fn draw(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        if let Some(source) = &mut self.source {
            return source.fill(out);
        }
        if self.is_nothing() {
            return Ok(());
        }
        let opened = (self.open)(&self.name).map_err(Failure::Runtime)?;
        self.source.insert(opened).fill(out)
    }
}
