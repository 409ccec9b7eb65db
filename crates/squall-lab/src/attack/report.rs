//! What an attack showed, for programs and for people.

use std::fmt;

use serde::Serialize;

use super::Attack;
use super::trial::{Claim, Fault, Trial};

/// What the columns mean.
const LEGEND: &str = "\
predicted: bytes that an attacker computes who has a copy of the state at the start and knows
all but the true entropy (chance: one of 256). control: the same, given that too.
";

/// What an attack showed.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The attack.
    pub attack: Attack,
    /// Whether every claim and every control held.
    pub held: bool,
    /// What was tried.
    pub scenarios: Vec<ScenarioReport>,
}

/// What one series of events showed.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioReport {
    /// Its name.
    pub name: &'static str,
    #[serde(skip)]
    pub(super) title: &'static str,
    #[serde(skip)]
    pub(super) story: &'static str,
    #[serde(skip)]
    pub(super) lesson: &'static str,
    /// Events that were fed.
    pub events: usize,
    /// Bits of them that the attacker did not know.
    pub true_entropy_bits: u64,
    /// What each system did.
    pub systems: Vec<Trial>,
}

impl Report {
    /// The report of `attack`.
    pub(super) fn new(attack: Attack, scenarios: Vec<ScenarioReport>) -> Report {
        Report {
            attack,
            held: scenarios.iter().all(ScenarioReport::held),
            scenarios,
        }
    }
}

impl ScenarioReport {
    fn held(&self) -> bool {
        self.systems.iter().all(|trial| trial.fault.is_none())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for scenario in &self.scenarios {
            writeln!(f, "{scenario}")?;
        }
        f.write_str(LEGEND)
    }
}

impl fmt::Display for ScenarioReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n{}", self.title, self.story)?;
        writeln!(
            f,
            "{} events, {} bits of true entropy.\n",
            self.events, self.true_entropy_bits
        )?;
        let [system, credited, given] = ["system", "credited", "bytes given"];
        let [predicted, control] = ["predicted", "control"];
        writeln!(
            f,
            "{system:<22}{credited:>10}{given:>14}{predicted:>12}{control:>10}"
        )?;
        for trial in &self.systems {
            writeln!(f, "{trial}")?;
        }
        match self.held() {
            true => writeln!(f, "\n{}", self.lesson),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credited = match self.credited_bits {
            Some(bits) => format!("{bits} bits"),
            None => "-".to_owned(),
        };
        let given = format!("{} of {}", self.bytes_given, self.bytes_asked);
        write!(
            f,
            "{:<22}{credited:>10}{given:>14}{:>12}{:>10}",
            self.title, self.bytes_predicted, self.bytes_predicted_with_secrets
        )?;
        f.write_str(match (self.fault, self.claim) {
            (None, _) => "",
            (Some(Fault::Credit), _) => "  FAULT: other credit expected",
            (Some(Fault::Control), _) => "  FAULT: the control should predict all",
            (_, Claim::EverythingPredicted) => "  FAULT: all should be predicted",
            (_, Claim::NothingPredicted) => "  FAULT: none should be predicted",
            (_, Claim::NothingGiven) => "  FAULT: none should be given",
        })
    }
}
