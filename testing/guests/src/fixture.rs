//! Guests for tests: a factory of guests, the squall command, files for drives, and commands that must succeed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use squall_testing::artifacts;
use squall_tool_base::{Failure, Interrupt};
use tempfile::TempDir;

use crate::debian::{Cache, KernelName};
use crate::{Guest, GuestFactory};

/// The installed squall command, which other tests use too, without debug information, which would fill a guest's
/// memory. The guest's C library must be at least as new as this machine's.
pub fn squall() -> &'static Path {
    static SQUALL: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = artifacts::target().join("guests");
        fs::create_dir_all(&directory).expect("a directory");
        let squall = directory.join("squall");
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(&squall).arg(artifacts::command());
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
    pub fn emulated() -> Workspace {
        Workspace::with_kernel(KernelName::V6_12)
    }

    /// Its guests are processes: user-mode Linux.
    pub fn user_mode() -> Workspace {
        Workspace::with(GuestFactory::user_mode)
    }

    /// Its guests run in QEMU, with this kernel.
    pub fn with_kernel(kernel: KernelName) -> Workspace {
        Workspace::with(|cache, interrupt, timeout| {
            GuestFactory::with_kernel(cache, cache.qemu()?, kernel, interrupt, timeout)
        })
    }

    /// Its guests have kvm-clock, and this kernel.
    pub fn with_kvm_clock(kernel: KernelName) -> Workspace {
        Workspace::with(|cache, interrupt, timeout| {
            let qemu = cache.qemu_with_kvm_clock()?;
            GuestFactory::with_kernel(cache, qemu, kernel, interrupt, timeout)
        })
    }

    fn with(
        open: impl FnOnce(&Cache, Interrupt, Duration) -> Result<GuestFactory, Failure>,
    ) -> Workspace {
        let _turn = Turn::take();
        let interrupt = required(Interrupt::watch("the guests are ended"));
        let cache = required(Cache::open(None));
        Workspace {
            factory: required(open(&cache, interrupt, TIMEOUT)),
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

/// How many runs may have machines at the same time. Six, because a run waits for a third of its time. Most need up to
/// half a gigabyte.
const TURNS: usize = 6;

/// Longest time to wait for anything, on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(1200);

static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// The right to run a machine, given back on drop.
pub struct Turn(());

impl Turn {
    /// Waits for a turn.
    pub fn take() -> Turn {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let all_taken = |taken: &mut usize| *taken == TURNS;
        let taken = GIVEN_BACK.wait_while(taken, all_taken);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        GIVEN_BACK.notify_one();
    }
}

/// The value of a step that a test needs. Fails with the message if the step has failed.
#[track_caller]
pub fn required<T>(result: Result<T, Failure>) -> T {
    result.unwrap_or_else(|failure| panic!("{}", message(failure)))
}

pub fn message(failure: Failure) -> String {
    match failure {
        Failure::Runtime(message) => message,
        other => panic!("{other:?}"),
    }
}
