//! One system, one series of events, one attacker; and whether it went as claimed.

use serde::Serialize;

use super::event::Event;
use super::system::Target;

/// Of so many bytes, one at most may be predicted where nothing should be. By chance it is one of
/// 256; with 64 bytes or more, this is exceeded once in 10^11 runs.
const CHANCE: usize = 8;

/// What is claimed of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The system gives something, and the attacker predicts all of it.
    EverythingPredicted,
    /// The system gives all it is asked for, and the attacker predicts nothing but by chance.
    NothingPredicted,
    /// The system gives nothing.
    NothingGiven,
}

/// What was not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The claim did not hold.
    Claim,
    /// The estimator credited something else than it should.
    Credit,
    /// Who was given the secrets did not predict everything.
    Control,
}

/// What came of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The system.
    pub system: &'static str,
    #[serde(skip)]
    pub(super) title: &'static str,
    /// Bits that the estimator credited; none if there is no estimator.
    pub credited_bits: Option<u32>,
    /// Bytes that were asked for.
    pub bytes_asked: usize,
    /// Bytes that the system gave.
    pub bytes_given: usize,
    /// Those of them that the attacker predicted.
    pub bytes_predicted: usize,
    /// Those of them that an attacker predicted who was given the secrets: the control.
    pub bytes_predicted_with_secrets: usize,
    /// What was claimed.
    pub claim: Claim,
    /// What was not as it should be.
    pub fault: Option<Fault>,
}

/// What should come of a trial.
#[derive(Clone, Copy)]
pub struct Expected {
    pub claim: Claim,
    pub credited_bits: Option<u32>,
}

/// Feeds `events` to `target`, reads `asked` bytes, and compares with what two attackers get from
/// the same start: one without the secrets, one with them.
pub fn play(target: &Target, events: &[Event], asked: usize, expected: Expected) -> Trial {
    let known: Vec<_> = events.iter().map(Event::without_secrets).collect();
    let victim = run(target, events, asked);
    let predicted = run(target, &known, asked).common_bytes(&victim);
    let predicted_with_secrets = run(target, events, asked).common_bytes(&victim);
    let given = victim.bytes.len();
    let is_as_claimed = match expected.claim {
        Claim::EverythingPredicted => given > 0 && predicted == given,
        Claim::NothingPredicted => given == asked && predicted <= given / CHANCE,
        Claim::NothingGiven => given == 0,
    };
    let fault = if !is_as_claimed {
        Some(Fault::Claim)
    } else if victim.credited_bits != expected.credited_bits {
        Some(Fault::Credit)
    } else if predicted_with_secrets != given {
        Some(Fault::Control)
    } else {
        None
    };
    Trial {
        system: target.name,
        title: target.title,
        credited_bits: victim.credited_bits,
        bytes_asked: asked,
        bytes_given: given,
        bytes_predicted: predicted,
        bytes_predicted_with_secrets: predicted_with_secrets,
        claim: expected.claim,
        fault,
    }
}

struct Outcome {
    credited_bits: Option<u32>,
    bytes: Vec<u8>,
}

impl Outcome {
    /// Bytes that are the same at the same place.
    fn common_bytes(&self, other: &Outcome) -> usize {
        let pairs = self.bytes.iter().zip(&other.bytes);
        pairs.filter(|(ours, theirs)| ours == theirs).count()
    }
}

fn run(target: &Target, events: &[Event], asked: usize) -> Outcome {
    let mut system = (target.start)();
    for event in events {
        system.feed(event);
    }
    let credited_bits = system.credited();
    let mut bytes = vec![0; asked];
    let given = system.read(&mut bytes);
    bytes.truncate(given);
    Outcome {
        credited_bits,
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::super::system::System;
    use super::*;

    const ASKED: usize = 64;

    /// Gives `give` bytes by `rule` of the sum of all cycle counts.
    struct Toy {
        sum: u32,
        give: usize,
        rule: fn(u32, &mut [u8]),
    }

    impl System for Toy {
        fn feed(&mut self, event: &Event) {
            self.sum += event.cycles;
        }

        fn read(&mut self, out: &mut [u8]) -> usize {
            (self.rule)(self.sum, &mut out[..self.give]);
            self.give
        }

        fn credited(&self) -> Option<u32> {
            Some(5)
        }
    }

    fn target(give: usize, rule: fn(u32, &mut [u8])) -> Target {
        Target {
            name: "toy",
            title: "Toy",
            start: Box::new(move || Box::new(Toy { sum: 0, give, rule })),
        }
    }

    fn fault(target: &Target, claim: Claim, credited: u32) -> Option<Fault> {
        let expected = Expected {
            claim,
            credited_bits: Some(credited),
        };
        let secret = Event {
            jiffies: 1,
            cycles: 5,
            num: 0,
            is_secret: true,
        };
        play(target, &[secret], ASKED, expected).fault
    }

    #[test]
    fn a_constant_is_predicted() {
        let constant = target(ASKED, |_, out| out.fill(7));
        assert_eq!(fault(&constant, Claim::EverythingPredicted, 5), None);
        for claim in [Claim::NothingPredicted, Claim::NothingGiven] {
            assert_eq!(fault(&constant, claim, 5), Some(Fault::Claim));
        }
    }

    #[test]
    fn what_depends_on_the_secret_is_not() {
        let secret = target(ASKED, |sum, out| out.fill(sum as u8));
        assert_eq!(fault(&secret, Claim::NothingPredicted, 5), None);
        let claim = Claim::EverythingPredicted;
        assert_eq!(fault(&secret, claim, 5), Some(Fault::Claim));
    }

    #[test]
    fn nothing_given_is_no_success_for_anyone() {
        let silent = target(0, |_, _| {});
        assert_eq!(fault(&silent, Claim::NothingGiven, 5), None);
        for claim in [Claim::NothingPredicted, Claim::EverythingPredicted] {
            assert_eq!(fault(&silent, claim, 5), Some(Fault::Claim));
        }
    }

    #[test]
    fn the_credit_counts() {
        let constant = target(ASKED, |_, out| out.fill(7));
        let claim = Claim::EverythingPredicted;
        assert_eq!(fault(&constant, claim, 4), Some(Fault::Credit));
    }

    /// What not even the secrets predict tells nothing about the attacker without them.
    #[test]
    fn the_control_counts() {
        let noise = target(ASKED, |_, out| squall::fill(out));
        let claim = Claim::NothingPredicted;
        assert_eq!(fault(&noise, claim, 5), Some(Fault::Control));
    }
}
