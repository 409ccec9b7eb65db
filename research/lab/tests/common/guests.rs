//! Guests for tests: a factory of guests, the squall command, files for drives, and commands that must succeed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use squall_lab::debian::Cache;
use squall_lab::test_guests::{Guest, GuestFactory};
use squall_testing::doors;
use squall_tools::{Failure, Interrupt};
use tempfile::TempDir;

use super::{TIMEOUT, Turn, message, required};

/// The installed squall command, which other tests use too, without debug information, which would fill a guest's
/// memory. The guest's C library must be at least as new as this machine's.
pub fn squall() -> &'static Path {
    static SQUALL: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = doors::target().join("guests");
        fs::create_dir_all(&directory).expect("a directory");
        let squall = directory.join("squall");
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(&squall).arg(doors::command());
        assert!(strip.status().expect("strip").success());
        squall
    });
    &SQUALL
}

/// A factory of guests, and a directory for drives.
pub struct Workspace {
    pub factory: GuestFactory,
    directory: TempDir,
    _turn: Turn,
}

impl Workspace {
    /// Its guests run in QEMU.
    pub fn new() -> Workspace {
        Workspace::with(GuestFactory::open)
    }

    /// Its guests are processes: user-mode Linux.
    pub fn user_mode() -> Workspace {
        Workspace::with(GuestFactory::user_mode)
    }

    fn with(open: Open) -> Workspace {
        let _turn = Turn::take();
        Workspace {
            factory: required(opened(open)),
            directory: TempDir::new().expect("a directory"),
            _turn,
        }
    }

    /// The path of the drive `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Creates a drive of `len` zero bytes and returns its path.
    pub fn medium(&self, name: &str, len: u64) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).expect("a file");
        file.set_len(len).expect("a length");
        path
    }
}

type Open = fn(&Cache, Interrupt, Duration) -> Result<GuestFactory, Failure>;

fn opened(open: Open) -> Result<GuestFactory, Failure> {
    let interrupt = Interrupt::watch("the guests are ended")?;
    open(&Cache::open(None)?, interrupt, TIMEOUT)
}

/// Runs a command, which must succeed, and returns its output.
#[track_caller]
pub fn ok(guest: &mut Guest, command: &str) -> String {
    let output = guest.sh(command).and_then(|output| output.into_stdout());
    output.unwrap_or_else(|failure| panic!("{command}: {}", message(failure)))
}

/// Runs a command, which must fail, and returns its errors.
#[track_caller]
pub fn fails(guest: &mut Guest, command: &str) -> String {
    let output = guest.sh(command).expect("an end");
    assert_ne!(output.status, 0, "{command}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until a command succeeds, in the guest.
#[track_caller]
pub fn wait_until_ok(guest: &mut Guest, command: &str) {
    ok(
        guest,
        &format!("until (\n{command}\n) >/dev/null 2>&1; do sleep 0.1; done"),
    );
}
