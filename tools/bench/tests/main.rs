//! Everything that the crate's tests look at from outside, in one program, which is also each child
//! that a test starts.

mod compare;
mod fixture;
mod remote;
mod report;
mod sources;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use squall_bench::child::{Child, Work};
use squall_bench::go::{self, Program};
use squall_testing::needs::{GO, TEST_ALL};
use squall_testing::suite;
use squall_tool_base::Failure;

fn main() -> ExitCode {
    if let Some(served) = serve() {
        return served;
    }
    // Tests that mostly wait come first: the others run meanwhile.
    suite::main(&[remote::TESTS, report::TESTS, compare::TESTS, sources::TESTS])
}

/// Go's program, which is built if it is not there yet.
fn go() -> Program {
    go::program("go".as_ref(), true).expect("Go builds its program")
}

/// The message of a failure.
#[track_caller]
fn message<T>(result: Result<T, Failure>) -> String {
    match result {
        Err(Failure::Runtime(message)) => message,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it did not fail"),
    }
}

/// The source that stands for a test of forks, which takes a process of one thread.
pub const REPEATS: &str = "repeats";

/// Longest time that something is waited for which happens at once on an idle machine.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Does what this process was started for, if it is a child.
fn serve() -> Option<ExitCode> {
    let child = Child::this_process()?;
    if child.source == REPEATS {
        sources::check_forks();
        return Some(ExitCode::SUCCESS);
    }
    let Err(failure) = squall_bench::work(&child, sources::open) else {
        return Some(ExitCode::SUCCESS);
    };
    eprintln!("{}", failure.into_text());
    Some(ExitCode::FAILURE)
}

/// The child that serves `source`.
pub fn child(source: &str) -> Command {
    Child::new(Work::Serve, source, 0).command()
}

/// Waits until `is_so`.
#[track_caller]
pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    let clock = Instant::now();
    while !is_so() {
        assert!(clock.elapsed() < TIMEOUT, "it did not happen");
        sleep(Duration::from_millis(10));
    }
}

/// Whether the process whose number is in `file` is there; an unreaped one is not.
pub fn is_alive(file: &Path) -> bool {
    let number = fs::read_to_string(file).expect("a number");
    let state = fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
    let of_state = state.rsplit(')').next().unwrap_or_default();
    !state.is_empty() && !of_state.trim_start().starts_with('Z')
}
