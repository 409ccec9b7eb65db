//! Batteries of others, run if they are installed and never required: a stream goes into their
//! standard input, and their verdicts are read from what they print.

mod dieharder;
mod feed;
mod practrand;
mod tally;
pub mod testu01;

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::time::Duration;

use squall_tools::Failure;

use tally::Tally;
pub use tally::{BatteryResult, State};

/// A battery of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Battery {
    /// `dieharder -a`: every test of R. G. Brown's dieharder, half an hour and more.
    Dieharder,
    /// `RNG_test stdin64` of C. Doty-Humphrey's PractRand.
    PractRand,
    /// SmallCrush of TestU01 (P. L'Ecuyer, R. Simard). TestU01 has no program that reads a stream,
    /// so its library is loaded, in a process of its own: see [`testu01`].
    TestU01,
}

/// How batteries are run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How long one may take; what it has said by then is its result. A test may wait forever for
    /// something that a bad source never gives.
    pub time: Duration,
    /// Bytes that PractRand looks at, which by itself would not end. The others take what they need.
    pub bytes: u64,
    /// The tests of dieharder, as its arguments: `-a` is all of them.
    pub dieharder: &'static [&'static str],
    /// A program and its arguments that call [`testu01::run`].
    pub testu01: Vec<OsString>,
}

impl Battery {
    /// All of them.
    pub const ALL: [Battery; 3] = [Battery::Dieharder, Battery::PractRand, Battery::TestU01];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Battery::Dieharder => "dieharder",
            Battery::PractRand => "PractRand",
            Battery::TestU01 => "TestU01 SmallCrush",
        }
    }

    /// Runs it on the stream that `fill` gives.
    ///
    /// # Errors
    /// The stream has failed. A battery that fails does not: that is a result.
    pub fn run(
        self,
        setting: &Setting,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
    ) -> Result<BatteryResult, Failure> {
        for mut command in self.commands(setting) {
            match feed::feed(&mut command, setting.time, fill) {
                Ok(output) => {
                    let output = output?;
                    let tally = self.tally(&output.text);
                    return Ok(tally.result(self.name(), output.in_time));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let summary = format!("did not start: {error}");
                    return Ok(self.without_result(State::Failed, summary));
                }
            }
        }
        Ok(self.without_result(State::NotInstalled, "not installed".into()))
    }

    /// What may start it, in the order to be tried.
    fn commands(self, setting: &Setting) -> Vec<Command> {
        match self {
            Battery::Dieharder => vec![dieharder::command(setting.dieharder)],
            Battery::PractRand => practrand::commands(setting.bytes),
            Battery::TestU01 => testu01::command(&setting.testu01).into_iter().collect(),
        }
    }

    fn tally(self, text: &str) -> Tally {
        match self {
            Battery::Dieharder => dieharder::tally(text),
            Battery::PractRand => practrand::tally(text),
            Battery::TestU01 => testu01::tally(text),
        }
    }

    fn without_result(self, state: State, summary: String) -> BatteryResult {
        BatteryResult {
            battery: self.name().into(),
            state,
            passed: 0,
            suspicious: 0,
            failed: 0,
            summary,
        }
    }
}
