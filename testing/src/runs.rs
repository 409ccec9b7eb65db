//! Runs of squall that have ended, and the events that they printed for programs.

use std::process::Output;

use serde_json::Value;

/// A run that has ended.
pub struct FinishedRun {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stderr: String,
    pub events: Vec<Value>,
}

impl From<Output> for FinishedRun {
    fn from(output: Output) -> FinishedRun {
        FinishedRun {
            code: output.status.code(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            events: events(&output.stdout),
        }
    }
}

impl FinishedRun {
    #[track_caller]
    fn ended(self, code: i32, words: &str) -> FinishedRun {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert!(self.stderr.contains(words), "{words:?} in {}", self.stderr);
        self
    }

    /// Fails unless the run succeeded.
    #[track_caller]
    pub fn succeeded(self) -> FinishedRun {
        self.ended(0, "")
    }

    /// Fails unless the run failed (exit code 1) with a message that has `words`.
    #[track_caller]
    pub fn failed(self, words: &str) -> FinishedRun {
        self.ended(1, words)
    }

    /// Fails unless the run was refused before it wrote (exit code 2), with a message that has `words`.
    #[track_caller]
    pub fn refused(self, words: &str) -> FinishedRun {
        self.ended(2, words)
    }

    /// The events with this name.
    pub fn events(&self, name: &str) -> Vec<&Value> {
        let events = self.events.iter();
        events.filter(|event| event["event"] == name).collect()
    }

    /// The outcome of a drive.
    #[track_caller]
    pub fn outcome(&self, drive: u64) -> &str {
        let ended = self.events("ended");
        let ended = ended.into_iter().find(|event| event["drive"] == drive);
        ended.expect("an end")["outcome"].as_str().expect("a word")
    }
}

/// The events in whole lines of `output`, each of which is a JSON object.
pub fn events(output: &[u8]) -> Vec<Value> {
    let lines = output.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter(|line| line.ends_with(b"\n"));
    let event = |line| serde_json::from_slice(line).expect("one JSON object per line");
    whole.map(event).collect()
}
