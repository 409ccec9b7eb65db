//! What an examination has found: a verdict for each test, and one of all.

use serde::{Deserialize, Serialize};

/// How often a good source fails an examination, at most: once in 10,000. Each test fails below
/// this number divided by the number of tests (Bonferroni), whatever tests have in common. Of 20,000
/// keystreams of 1 MiB none has failed.
pub const FALSE_ALARM: f64 = 1e-4;

/// Every test of an examination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Bytes that were examined.
    pub bytes: u64,
    /// A test with a p-value below this has failed.
    pub threshold: f64,
    /// The tests, always the same in the same order.
    pub tests: Vec<Test>,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// What is tested.
    pub name: String,
    /// What was computed; `detail` says what it is.
    pub statistic: f64,
    /// How likely a true random source is to be as far off, to either side.
    pub p_value: f64,
    /// Whether that is likely enough.
    pub passed: bool,
    /// The statistic, for people.
    pub detail: String,
}

/// A test without its verdict, which needs the number of tests.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) statistic: f64,
    pub(super) p_value: f64,
    pub(super) detail: String,
}

impl Findings {
    /// Judges all tests of `bytes` bytes.
    pub(super) fn of(bytes: u64, outcomes: Vec<Outcome>) -> Findings {
        let threshold = FALSE_ALARM / outcomes.len() as f64;
        let judge = |outcome: Outcome| Test {
            name: outcome.name.into(),
            statistic: outcome.statistic,
            p_value: outcome.p_value,
            passed: outcome.p_value >= threshold,
            detail: outcome.detail,
        };
        Findings {
            bytes,
            threshold,
            tests: outcomes.into_iter().map(judge).collect(),
        }
    }

    /// Whether every test has passed.
    pub fn passed(&self) -> bool {
        self.tests.iter().all(|test| test.passed)
    }

    /// The tests that have not.
    pub fn failed(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| !test.passed)
    }
}
