//! This test program as a child: of the benchmark's experiments, and of tests.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use squall_bench::child::{Child, Work};
use squall_bench::work;
use squall_tools::Failure;

use crate::process;
use crate::repeats;

/// The source that stands for a test of forks, which takes a process of one thread.
pub const REPEATS: &str = "repeats";

/// Longest time that something is waited for which happens at once on an idle machine.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Does what this process was started for, if it is a child.
pub fn serve() -> Option<ExitCode> {
    let child = Child::this_process()?;
    match serve_child(&child) {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(failure) => {
            eprintln!("{}", failure.into_text());
            Some(ExitCode::FAILURE)
        }
    }
}

fn serve_child(child: &Child) -> Result<(), Failure> {
    if child.source == REPEATS {
        repeats::check();
        return Ok(());
    }
    work::run(child, process::open)
}

/// The child that serves `source`.
pub fn command(source: &str) -> Command {
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
