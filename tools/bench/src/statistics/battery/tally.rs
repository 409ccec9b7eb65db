//! The results of a battery, counted.

use serde::{Deserialize, Serialize};

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
pub(super) struct Tally {
    pub(super) passed: u32,
    pub(super) suspicious: u32,
    pub(super) failed: Vec<String>,
}

impl Tally {
    pub(super) fn result(self, battery: &str, in_time: bool) -> BatteryResult {
        let failed = self.failed.len() as u32;
        let state = match (self.passed + self.suspicious + failed, in_time) {
            (0, _) => State::Failed,
            (_, true) => State::Ended,
            (_, false) => State::Stopped,
        };
        BatteryResult {
            battery: battery.into(),
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
            return format!("returned no result{stopped}");
        }
        let (passed, suspicious, failed) = (self.passed, self.suspicious, self.failed.len());
        let counts = format!("{passed} passed, {suspicious} suspicious, {failed} failed{stopped}");
        match self.failed.first() {
            None => counts,
            Some(first) => format!("{counts}; first failed: {first}"),
        }
    }
}
