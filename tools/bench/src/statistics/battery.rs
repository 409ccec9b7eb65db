//! Batteries of others, run if they are installed and never required: a stream goes into their
//! standard input, and their verdicts are read from what they print.

mod dieharder;
mod feed;
mod practrand;
pub mod testu01;

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use squall_tools::Failure;

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
    /// A program and its arguments that call [`testu01::run`].
    pub testu01: Vec<OsString>,
}

/// What became of a battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It ran to its end.
    Ended,
    /// It was stopped: there are results, but not all.
    Stopped,
    /// It gave no result.
    Failed,
    /// It is not on this machine.
    NotInstalled,
}

/// What a battery says of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatteryResult {
    /// Its name.
    pub battery: String,
    /// What became of it.
    pub state: State,
    /// Results without anything to be said of them.
    pub passed: u32,
    /// Results that are rare, and of which some are normal among so many.
    pub suspicious: u32,
    /// Results that a good source does not give.
    pub failed: u32,
    /// That in one line.
    pub summary: String,
}

/// Results that were counted, and the tests that failed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u32,
    suspicious: u32,
    failed: Vec<String>,
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
                    return Ok(tally.result(self, output.in_time));
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
            Battery::Dieharder => vec![dieharder::command(dieharder::ALL)],
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

impl Tally {
    fn result(self, battery: Battery, in_time: bool) -> BatteryResult {
        let failed = self.failed.len() as u32;
        let state = match (self.passed + self.suspicious + failed, in_time) {
            (0, _) => State::Failed,
            (_, true) => State::Ended,
            (_, false) => State::Stopped,
        };
        BatteryResult {
            battery: battery.name().into(),
            state,
            passed: self.passed,
            suspicious: self.suspicious,
            failed,
            summary: self.summary(state, in_time),
        }
    }

    fn summary(&self, state: State, in_time: bool) -> String {
        let stopped = if in_time {
            ""
        } else {
            ", stopped at its time limit"
        };
        if state == State::Failed {
            return format!("gave no result{stopped}");
        }
        let (passed, suspicious, failed) = (self.passed, self.suspicious, self.failed.len());
        let counts = format!("{passed} passed, {suspicious} suspicious, {failed} failed{stopped}");
        match self.failed.first() {
            None => counts,
            Some(first) => format!("{counts}; first failed: {first}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use squall_tools::Failure;

    use super::{Battery, BatteryResult, Setting, State};

    fn run(battery: Battery, fill: &mut dyn FnMut(&mut [u8])) -> BatteryResult {
        let setting = Setting {
            time: Duration::from_secs(120),
            bytes: 64 << 20,
            testu01: super::testu01::tests::child(),
        };
        let mut fill = |out: &mut [u8]| {
            fill(out);
            Ok(())
        };
        battery.run(&setting, &mut fill).unwrap()
    }

    /// The battery's verdict on a good stream and on a counter, where it is installed.
    fn judges(battery: Battery) {
        let good = run(battery, &mut squall::fill);
        if good.state == State::NotInstalled {
            println!("SKIP: {} is not installed", battery.name());
            return;
        }
        assert_eq!(
            (good.state, good.failed),
            (State::Ended, 0),
            "{}",
            good.summary
        );
        assert!(good.passed > 10, "{}", good.summary);
        let mut counter = 0_u64;
        let bad = run(battery, &mut |out| {
            for word in out.chunks_mut(8) {
                counter += 1;
                word.copy_from_slice(&counter.to_le_bytes()[..word.len()]);
            }
        });
        assert!(bad.failed > 0, "{}", bad.summary);
    }

    #[test]
    fn practrand_judges() {
        judges(Battery::PractRand);
    }

    #[test]
    fn testu01_judges() {
        judges(Battery::TestU01);
    }

    #[test]
    fn a_stream_that_fails_ends_the_battery() {
        let setting = Setting {
            time: Duration::from_secs(600),
            bytes: 64 << 20,
            testu01: Vec::new(),
        };
        let mut fill = |_: &mut [u8]| Err(Failure::Runtime("broken".into()));
        match Battery::Dieharder.run(&setting, &mut fill) {
            Ok(result) if result.state == State::NotInstalled => {
                println!("SKIP: dieharder is not installed");
            }
            result => assert!(matches!(result, Err(Failure::Runtime(_))), "{result:?}"),
        }
    }

    #[test]
    fn a_battery_that_is_not_there_is_reported() {
        let setting = Setting {
            time: Duration::from_secs(1),
            bytes: 64 << 20,
            testu01: vec!["/nonexistent/program".into()],
        };
        let result = Battery::TestU01.run(&setting, &mut |_| Ok(())).unwrap();
        assert_eq!(result.state, State::NotInstalled);
        assert_eq!(result.summary, "not installed");
    }
}
