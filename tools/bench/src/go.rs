//! Go's generators, in a program with Go's standard library alone, which is built when it is needed
//! and kept in the user's cache.
//!
//! The program is run only if nobody else could have written it. Building takes no network.

mod cache;
mod compiler;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use squall_tools::Failure;
use tempfile::TempDir;

use crate::remote::{self, Remote, TIMEOUT};
use compiler::Compiler;

/// The program, ready to run.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    version: String,
    /// Where it is, if that goes with this.
    _directory: Option<TempDir>,
}

impl Program {
    /// The version of Go that it was built with, as in `go1.26.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A process that serves `source`: `crypto` (crypto/rand) or `math` (math/rand/v2). Its threads
    /// are goroutines.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn source(&self, source: &str) -> Result<Remote, Failure> {
        Remote::start(self.command(&["serve", source]))
    }

    /// Nanoseconds that the first 32 bytes of a new process take, seen from within.
    ///
    /// # Errors
    /// It has failed.
    pub fn first(&self, source: &str) -> Result<f64, Failure> {
        self.number(&["first", source], TIMEOUT)
    }

    /// The number that the program prints, called with `args`.
    pub(crate) fn number(&self, args: &[&str], timeout: Duration) -> Result<f64, Failure> {
        remote::number_of(self.command(args), timeout)
    }

    /// A call of the program.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(args);
        command
    }
}

/// The program, or why it is not there; it is built if it is not and `may_build`: with a compiler
/// that has built nothing yet, that takes half a minute.
///
/// # Errors
/// Go is not installed, is too old, or has failed; or the program would have to be built.
pub fn program(may_build: bool) -> Result<Program, String> {
    program_by("go".as_ref(), cache::directory().as_deref(), may_build)
}

/// The program, built by the command `go` and kept in the directory `cache`.
///
/// # Errors
/// As those of [`program`].
pub fn program_by(go: &OsStr, cache: Option<&Path>, may_build: bool) -> Result<Program, String> {
    let compiler = Compiler::find(go)?;
    let cache = cache.and_then(|cache| cache::prepare(cache).ok());
    let kept = cache.map(|cache| cache.join(format!("bench-{}", compiler.key())));
    let path = match &kept {
        Some(path) if cache::is_ours(path) => path.clone(),
        _ if !may_build => return Err("its program is not built yet: a full run does that".into()),
        _ => return build(compiler, kept),
    };
    let version = compiler.version;
    Ok(Program {
        path,
        version,
        _directory: None,
    })
}

/// Builds it beside the place where it is to be `kept`, and moves it there; without one, it stays
/// where it was built.
fn build(compiler: Compiler, kept: Option<PathBuf>) -> Result<Program, String> {
    let directory = cache::workshop(kept.as_deref().and_then(Path::parent))?;
    let mut path = compiler.build(directory.path())?;
    let moved = kept.filter(|kept| std::fs::rename(&path, kept).is_ok());
    let directory = match moved {
        Some(kept) => {
            path = kept;
            None
        }
        None => Some(directory),
    };
    Ok(Program {
        path,
        version: compiler.version,
        _directory: directory,
    })
}
