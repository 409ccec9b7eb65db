//! Batteries of others, run if they are installed and never required: a stream goes into their
//! standard input, and their verdicts are read from what they print.
//!
//! They find generators that are broken, and say nothing of security: a keystream whose key
//! everybody knows passes all of them.

mod dieharder;
mod feed;
mod practrand;
mod run;
pub mod testu01;

pub use dieharder::dieharder;
pub use run::run;

use std::fmt;
use std::process::Command;
use std::time::Duration;

use squall_tools::Failure;

use feed::{Ended, feed};

/// A battery of tests.
#[derive(Clone, Copy, Debug)]
pub struct Battery {
    /// Its name.
    pub name: &'static str,
    /// The programs that may run it on so many bytes, in the order to be tried.
    pub programs: fn(u64) -> Vec<Command>,
    /// Counts the results that it prints.
    pub tally: fn(&str) -> Tally,
}

/// `dieharder -a`: every test of R. G. Brown's dieharder, half an hour and more.
pub const DIEHARDER: Battery = Battery {
    name: "dieharder",
    programs: |_| vec![dieharder(&["-a"])],
    tally: dieharder::tally,
};

/// `RNG_test stdin64` of C. Doty-Humphrey's PractRand, which by itself would not end.
pub const PRACTRAND: Battery = Battery {
    name: "PractRand",
    programs: practrand::programs,
    tally: practrand::tally,
};

/// SmallCrush of TestU01 (P. L'Ecuyer, R. Simard). TestU01 has no program that reads a stream, so its
/// library is loaded, in a process of its own: see [`testu01`].
pub const TESTU01: Battery = Battery {
    name: "TestU01 SmallCrush",
    programs: |_| testu01::program().into_iter().collect(),
    tally: testu01::tally,
};

/// All of them.
pub const ALL: [Battery; 3] = [DIEHARDER, PRACTRAND, TESTU01];

/// Results that were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Results without anything to be said of them.
    pub passed: u32,
    /// Results that are rare, and of which some are normal among so many.
    pub suspicious: u32,
    /// The tests that a good source does not fail.
    pub failed: Vec<String>,
    /// Whether that is not all: its time was up.
    pub is_stopped: bool,
}

/// What a battery says of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatteryResult {
    /// Its name.
    pub battery: &'static str,
    /// Its results, or why there are none.
    pub tally: Result<Tally, String>,
}

impl Battery {
    /// Runs it on the stream that `fill` gives, for as long as `time`: what it has said by then is its
    /// result, as a test may wait forever for something that a bad source never gives. `None` if it is
    /// not installed.
    ///
    /// # Errors
    /// The stream has failed. A battery that fails does not: that is a result.
    pub fn run(
        &self,
        time: Duration,
        bytes: u64,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
    ) -> Result<Option<BatteryResult>, Failure> {
        for program in (self.programs)(bytes) {
            let (ended, text) = feed(&program, time, fill)?;
            if ended != Ended::NotFound {
                let (battery, tally) = (self.name, self.tally(ended, &text));
                return Ok(Some(BatteryResult { battery, tally }));
            }
        }
        Ok(None)
    }

    fn tally(&self, ended: Ended, text: &str) -> Result<Tally, String> {
        let mut tally = (self.tally)(text);
        tally.is_stopped = ended == Ended::Stopped;
        let count = tally.passed + tally.suspicious + tally.failed.len() as u32;
        match (count, tally.is_stopped) {
            (0, true) => Err("returned no result, stopped at its time limit".into()),
            (0, false) => Err("returned no result".into()),
            _ => Ok(tally),
        }
    }
}

impl BatteryResult {
    /// Whether it rejects the stream.
    pub fn has_failed(&self) -> bool {
        matches!(&self.tally, Ok(tally) if !tally.failed.is_empty())
    }
}

impl fmt::Display for BatteryResult {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = self.battery;
        let tally = match &self.tally {
            Ok(tally) => tally,
            Err(why) => return write!(f, "{name}: {why}"),
        };
        let (passed, suspicious, failed) = (tally.passed, tally.suspicious, tally.failed.len());
        write!(
            f,
            "{name}: {passed} passed, {suspicious} suspicious, {failed} failed"
        )?;
        if tally.is_stopped {
            f.write_str(", stopped at its time limit")?;
        }
        match tally.failed.first() {
            Some(first) => write!(f, "; first failed: {first}"),
            None => Ok(()),
        }
    }
}
