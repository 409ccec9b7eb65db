//! The results of an attack, as JSON and as text.

use std::fmt;

use serde::Serialize;
use squall_tool_base::Failure;

use super::trial::{Claim, Fault, Trial};

/// Explains the columns and the initial state.
const LEGEND: &str = "\
predicted: bytes that an attacker predicts who has a copy of the initial state and knows every event
except its secret bits (by chance, one byte in 256). last 512: the same for an attacker who lacks
only the last 512 secret bits. control: the same for an attacker who knows all secret bits.

All credit is zero at the start, and no other events happen. Interrupts would earn the old RNG one
bit of credit for every 64 of them, or every second.
";

/// The results of an attack.
#[derive(Clone, Debug, Serialize)]
pub struct AttackReport {
    attack: &'static str,
    /// Whether every claim and every control held.
    held: bool,
    scenarios: Vec<ScenarioReport>,
}

/// The results of one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioReport {
    pub name: &'static str,
    #[serde(skip)]
    pub title: &'static str,
    #[serde(skip)]
    pub description: &'static str,
    #[serde(skip)]
    pub explanation: &'static str,
    /// Events that were fed to each system.
    pub events: usize,
    /// Bits of these events that the attacker does not know.
    pub secret_bits: u64,
    /// The trial of each system.
    pub systems: Vec<Trial>,
}

impl AttackReport {
    /// The report of `attack`.
    pub fn new(attack: &'static str, scenarios: Vec<ScenarioReport>) -> AttackReport {
        AttackReport {
            attack,
            held: scenarios.iter().all(ScenarioReport::held),
            scenarios,
        }
    }

    /// Fails if a claim or a control did not hold.
    pub fn verdict(&self) -> Result<(), Failure> {
        if !self.held {
            let message = "attack: a claim or a control did not hold: see the lines marked FAULT";
            return Err(Failure::Runtime(message.to_owned()));
        }
        Ok(())
    }
}

impl ScenarioReport {
    fn held(&self) -> bool {
        self.systems.iter().all(|trial| trial.fault.is_none())
    }
}

impl fmt::Display for AttackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for scenario in &self.scenarios {
            writeln!(f, "{scenario}")?;
        }
        f.write_str(LEGEND)
    }
}

impl fmt::Display for ScenarioReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n{}", self.title, self.description)?;
        writeln!(
            f,
            "{} events, {} secret bits.\n",
            self.events, self.secret_bits
        )?;
        let [system, credited, given] = ["system", "credited", "bytes given"];
        let [predicted, last, control] = ["predicted", "last 512", "control"];
        writeln!(
            f,
            "{system:<22}{credited:>10}{given:>14}{predicted:>12}{last:>10}{control:>10}"
        )?;
        for trial in &self.systems {
            writeln!(f, "{trial}")?;
        }
        if self.held() {
            writeln!(f, "\n{}", self.explanation)
        } else {
            Ok(())
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
        let predicted = self.bytes_predicted;
        let last = self.bytes_predicted_without_last_512_bits;
        let control = self.bytes_predicted_with_secrets;
        write!(
            f,
            "{:<22}{credited:>10}{given:>14}{predicted:>12}{last:>10}{control:>10}",
            self.title
        )?;
        f.write_str(match (self.fault, self.claim) {
            (None, _) => "",
            (Some(Fault::Credit), _) => "  FAULT: a different credit was expected",
            (Some(Fault::Control), _) => "  FAULT: the control should predict all bytes",
            (_, Claim::EverythingPredicted) => "  FAULT: all bytes should be predicted",
            (_, Claim::NothingPredicted) => "  FAULT: no byte should be predicted",
            (_, Claim::NothingGiven) => "  FAULT: no byte should be given",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(claim: Claim, fault: Option<Fault>) -> Trial {
        Trial {
            system: "toy",
            title: "Toy",
            credited_bits: Some(3),
            bytes_asked: 64,
            bytes_given: 63,
            bytes_predicted: 62,
            bytes_predicted_without_last_512_bits: 61,
            bytes_predicted_with_secrets: 60,
            claim,
            fault,
        }
    }

    fn report(fault: Option<Fault>) -> AttackReport {
        let scenario = |fault| ScenarioReport {
            name: "toys",
            title: "Toys",
            description: "They are tested.",
            explanation: "They hold.",
            events: 5,
            secret_bits: 64,
            systems: [None, fault]
                .map(|fault| trial(Claim::NothingGiven, fault))
                .into(),
        };
        AttackReport::new("urandom", [None, fault].map(scenario).into())
    }

    /// A single fault makes the whole attack fail. It is marked, and hides the explanation.
    #[test]
    fn one_fault_is_a_failure() {
        let good = report(None);
        assert!(good.held && good.verdict().is_ok());
        assert_eq!(good.to_string().matches("\nThey hold.\n").count(), 2);
        assert!(!good.to_string().contains("FAULT:"));
        for fault in [Fault::Claim, Fault::Credit, Fault::Control] {
            let faulty = report(Some(fault));
            assert!(!faulty.held && faulty.verdict().is_err());
            assert_eq!(faulty.to_string().matches("\nThey hold.\n").count(), 1);
            assert_eq!(faulty.to_string().matches("FAULT:").count(), 1);
        }
    }
}
