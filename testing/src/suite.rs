//! Integration tests, some of which this machine may be unable to run.
//!
//! A test whose needs the machine lacks is reported as ignored, with the reason, and counted in the
//! summary. If the environment requires the test, it fails instead.
//!
//! ```no_run
//! use squall_testing::suite::{self, Need, Test};
//! use squall_testing::tests;
//!
//! const GROFF: Need = Need {
//!     check: || suite::command("groff"),
//!     required_by: "SQUALL_REQUIRE_PROGRAMS",
//! };
//!
//! fn sizes_have_units() {}
//! fn pages_are_formatted() {}
//!
//! const TESTS: &[Test] = tests![sizes_have_units, pages_are_formatted: [GROFF]];
//!
//! fn main() -> std::process::ExitCode {
//!     suite::main(&[TESTS])
//! }
//! ```

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::workspace::find;

/// A test, and its needs.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// The test's path, as `module::name`.
    pub name: &'static str,
    pub run: fn(),
    pub needs: &'static [Need],
}

/// Something that a machine may lack.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Fails with the reason if the machine lacks it.
    pub check: fn() -> Result<(), String>,
    /// The environment variable that makes its absence a failure, or [`NOTHING`].
    pub required_by: &'static str,
}

/// The value of [`Need::required_by`] for needs that are never required.
pub const NOTHING: &str = "";

/// Lists tests by their functions' names, each with its needs, if any: `tests![one, another: [ROOT,
/// GROFF]]`.
#[macro_export]
macro_rules! tests {
    ($($name:ident $(: [$($need:expr),*])?),* $(,)?) => {
        &[$($crate::suite::Test {
            name: concat!(module_path!(), "::", stringify!($name)),
            run: $name,
            needs: &[$($($need),*)?],
        }),*]
    };
}

/// Number of tests that run at the same time per CPU; they mostly wait for other processes.
const TESTS_PER_CPU: usize = 12;

/// If this variable is set, only tests that need anything run: the others have run in `make test`.
const ONLY_WITH_NEEDS: &str = "SQUALL_TEST_NEEDS";

/// Runs the tests that the command line asks for, as `cargo test` does.
pub fn main(modules: &[&[Test]]) -> ExitCode {
    let mut arguments = Arguments::from_args();
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    arguments.test_threads.get_or_insert(TESTS_PER_CPU * cpus);
    let only_with_needs = std::env::var_os(ONLY_WITH_NEEDS).is_some();
    let tests = modules.iter().copied().flatten();
    let tests = tests.filter(|test| !only_with_needs || !test.needs.is_empty());
    let trials = tests.map(trial);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn trial(test: &Test) -> Trial {
    let Test { name, run, needs } = *test;
    // Without the binary's name.
    let name = name.split_once("::").map_or(name, |(_, path)| path);
    Trial::ignorable_test(name, move || {
        if let Some(outcome) = needs.iter().find_map(outcome_without) {
            return outcome;
        }
        run();
        Ok(Completion::Completed)
    })
}

/// The outcome of a test that the machine cannot run for lack of `need`; None if it has it.
fn outcome_without(need: &Need) -> Option<Result<Completion, Failed>> {
    /// What was found out, by the addresses of checks.
    static FOUND: Mutex<BTreeMap<usize, Result<(), String>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let result = found.entry(need.check as usize).or_insert_with(need.check);
    let why = result.as_ref().err()?;
    if std::env::var_os(need.required_by).is_some() {
        return Some(Err(format!("{} is set, but {why}", need.required_by).into()));
    }
    Some(Ok(Completion::ignored_with(why)))
}

/// Whether the command `name` exists.
///
/// # Errors
/// Returns why not.
pub fn command(name: &str) -> Result<(), String> {
    let missing = || format!("{name} is not installed");
    find(name).map(drop).ok_or_else(missing)
}
