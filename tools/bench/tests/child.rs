//! This test program as a child: of the benchmark's experiments, and of tests.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use squall_bench::process as experiments;
use squall_bench::remote::serve_on;
use squall_bench::source::Draw;
use squall_bench::sources;
use squall_bench::statistics::battery::testu01;
use squall_tools::Failure;

use crate::process;

/// What a child of a test does.
pub const VARIABLE: &str = "SQUALL_TEST_CHILD";

/// Longest time that something is waited for which happens at once on an idle machine.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Does what this process was started for, if it is a child.
pub fn serve() -> Option<ExitCode> {
    let served = match experiments::this_process() {
        Some(child) => experiments::serve(&child, process::lookup),
        None => serve_test(&env::var(VARIABLE).ok()?),
    };
    match served {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(failure) => {
            eprintln!("{}", failure.into_text());
            Some(ExitCode::FAILURE)
        }
    }
}

fn serve_test(what: &str) -> Result<(), Failure> {
    let opened = match what {
        "testu01" => return testu01::run(),
        "repeats" => {
            process::check_repeats();
            return Ok(());
        }
        "idle" => Ok(Box::new(Idle) as _),
        "missing" => Err("libidle is not\ninstalled".into()),
        name => (sources::find(name).expect("a source").open)(),
    };
    serve_on(io::stdin().lock(), io::stdout().lock(), opened)
}

/// The child that does `what`.
pub fn command(what: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("a program"));
    command.env(VARIABLE, what);
    command
}

/// A source that leaves buffers as they are.
struct Idle;

impl Draw for Idle {
    fn fill(&mut self, _: &mut [u8]) {}
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
