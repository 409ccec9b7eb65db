//! Tries one system with one series of events, and compares the result with the claim.

use serde::Serialize;

use super::system::{Event, SECRET_BITS, Subject, System};

/// A number of predicted bytes whose probability is below this is not attributed to chance.
const NEGLIGIBLE: f64 = 1e-11;

/// The second attacker lacks this many of the last secret bits.
const LAST_BITS: u64 = 512;

/// What a scenario claims of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The system gives output, and the attacker predicts all of it.
    EverythingPredicted,
    /// The system gives everything asked for, and neither attacker predicts more than chance allows.
    NothingPredicted,
    /// The system gives no output.
    NothingGiven,
}

/// The reason why a trial is not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The claim did not hold.
    Claim,
    /// The estimator's credit differs from what was expected.
    Credit,
    /// An attacker with the secrets did not predict everything.
    Control,
}

/// The result of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The system's name in JSON.
    pub system: &'static str,
    #[serde(skip)]
    pub title: &'static str,
    /// Bits that the estimator credited. None if the system has no estimator.
    pub credited_bits: Option<u32>,
    /// Bytes that were requested.
    pub bytes_asked: usize,
    /// Output bytes of the system.
    pub bytes_given: usize,
    /// Output bytes that the attacker predicted.
    pub bytes_predicted: usize,
    /// Output bytes that an attacker predicted who lacked only the last 512 secret bits.
    pub bytes_predicted_without_last_512_bits: usize,
    /// Output bytes that an attacker with all secrets predicted: the control.
    pub bytes_predicted_with_secrets: usize,
    pub claim: Claim,
    /// Why the trial failed. None if everything was as expected.
    pub fault: Option<Fault>,
}

/// Feeds `events` to `subject`, reads `asked` bytes, and compares them with those that three attackers
/// get from the same start: one without the secrets, one without the last of them, and one with all. The result is
/// judged by the claim, and by the bits that the system should credit.
pub fn run_trial<S: System>(
    subject: &Subject<impl Fn() -> S>,
    events: &[Event],
    asked: usize,
    claim: Claim,
    credited_bits: Option<u32>,
) -> Trial {
    let (credited, bytes) = run(subject, events, asked);
    let predicted_from = |known: &[Event]| {
        let (_, predicted) = run(subject, known, asked);
        let pairs = predicted.iter().zip(&bytes);
        pairs
            .filter(|(predicted, given)| predicted == given)
            .count()
    };
    let predicted = predicted_from(&without_last_secrets(events, u64::MAX));
    let predicted_but_last = predicted_from(&without_last_secrets(events, LAST_BITS));
    let predicted_with_secrets = predicted_from(events);
    let given = bytes.len();
    let is_as_claimed = match claim {
        Claim::EverythingPredicted => given > 0 && predicted == given,
        Claim::NothingPredicted => {
            given == asked && predicted.max(predicted_but_last) <= most_by_chance(given)
        }
        Claim::NothingGiven => given == 0,
    };
    let fault = if !is_as_claimed {
        Some(Fault::Claim)
    } else if credited != credited_bits {
        Some(Fault::Credit)
    } else if predicted_with_secrets != given {
        Some(Fault::Control)
    } else {
        None
    };
    Trial {
        system: subject.name,
        title: subject.title,
        credited_bits: credited,
        bytes_asked: asked,
        bytes_given: given,
        bytes_predicted: predicted,
        bytes_predicted_without_last_512_bits: predicted_but_last,
        bytes_predicted_with_secrets: predicted_with_secrets,
        claim,
        fault,
    }
}

/// `events` as known to someone who lacks the last `bits` secret bits.
fn without_last_secrets(events: &[Event], bits: u64) -> Vec<Event> {
    let mut known = events.to_vec();
    let secret = known.iter_mut().rev().filter(|event| event.is_secret);
    for event in secret.take((bits / SECRET_BITS) as usize) {
        *event = event.without_secrets();
    }
    known
}

/// The most of `len` bytes that are predicted by chance. The number is binomial with probability 1/256
/// for each byte, and exceeds this with a probability below [`NEGLIGIBLE`].
fn most_by_chance(len: usize) -> usize {
    let mut count = 0;
    let mut exactly = (255.0 / 256.0_f64).powf(len as f64);
    let mut beyond = 1.0 - exactly;
    while beyond >= NEGLIGIBLE {
        let odds = (len - count) as f64 / (count + 1) as f64 / 255.0;
        count += 1;
        exactly *= odds;
        beyond -= exactly;
    }
    count
}

/// The bits that the system credits, and the bytes that it gives.
fn run<S: System>(
    subject: &Subject<impl Fn() -> S>,
    events: &[Event],
    asked: usize,
) -> (Option<u32>, Vec<u8>) {
    let mut system = (subject.start)();
    for event in events {
        system.feed(event);
    }
    let credited_bits = system.credited();
    let mut bytes = vec![0; asked];
    let given = system.read(&mut bytes);
    bytes.truncate(given);
    (credited_bits, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: usize = 64;

    /// Computes output from the cycle counts of all events.
    type Rule = fn(&[u32], &mut [u8]);

    /// A system that gives `give` bytes, computed by `rule`.
    struct Toy {
        cycles: Vec<u32>,
        give: usize,
        rule: Rule,
    }

    impl System for Toy {
        fn feed(&mut self, event: &Event) {
            self.cycles.push(event.cycles);
        }

        fn read(&mut self, out: &mut [u8]) -> usize {
            (self.rule)(&self.cycles, &mut out[..self.give]);
            self.give
        }

        fn credited(&self) -> Option<u32> {
            Some(5)
        }
    }

    /// What is wrong with each claim of a system that gives `give` bytes by `rule` and is expected to credit
    /// `credited` bits: that everything is predicted, that nothing is, and that nothing is given. There are nine secret
    /// events, one more than the second attacker lacks.
    fn faults(credited: u32, give: usize, rule: Rule) -> [Option<Fault>; 3] {
        let start = || Toy {
            cycles: Vec::new(),
            give,
            rule,
        };
        let toy = Subject {
            name: "toy",
            title: "Toy",
            start,
        };
        let secret = |jiffies| Event {
            jiffies,
            cycles: 5,
            num: 0,
            is_secret: true,
        };
        let secrets: Vec<Event> = (1..=9).map(secret).collect();
        let claims = [
            Claim::EverythingPredicted,
            Claim::NothingPredicted,
            Claim::NothingGiven,
        ];
        claims.map(|claim| run_trial(&toy, &secrets, ASKED, claim, Some(credited)).fault)
    }

    #[test]
    fn claims_that_do_not_hold_are_faults() {
        const CLAIM: Option<Fault> = Some(Fault::Claim);
        let nothing_predicted = [CLAIM, None, CLAIM];
        let constant = faults(5, ASKED, |_, out| out.fill(7));
        assert_eq!(constant, [None, CLAIM, CLAIM]);
        let other_credit = faults(4, ASKED, |_, out| out.fill(7));
        assert_eq!(other_credit, [Some(Fault::Credit), CLAIM, CLAIM]);
        let silent = faults(5, 0, |_, _| {});
        assert_eq!(silent, [CLAIM, CLAIM, None]);
        let by_the_last = faults(5, ASKED, |cycles, out| out.fill(cycles[8] as u8));
        assert_eq!(by_the_last, nothing_predicted);
        // Whoever knows all but the last eight secrets predicts what depends on the first alone.
        let by_the_first = faults(5, ASKED, |cycles, out| out.fill(cycles[0] as u8));
        assert_eq!(by_the_first, [CLAIM; 3]);
        let by_the_second = faults(5, ASKED, |cycles, out| out.fill(cycles[1] as u8));
        assert_eq!(by_the_second, nothing_predicted);
        // As many bytes as chance allows, and one more.
        let at_most = faults(5, ASKED, |cycles, out| out[8..].fill(cycles[1] as u8));
        assert_eq!(at_most, nothing_predicted);
        let more = faults(5, ASKED, |cycles, out| out[9..].fill(cycles[1] as u8));
        assert_eq!(more, [CLAIM; 3]);
        // If even the secrets do not predict the output, nothing is known about an attacker without them.
        let noise = faults(5, ASKED, |_, out| squall::fill(out));
        assert_eq!(noise, [CLAIM, Some(Fault::Control), CLAIM]);
    }

    /// More than 8 of 64 bytes are predicted with probability 4.8 · 10^-12, more than 7 with 2.0 ·
    /// 10^-10. Of 512, it is 4.9 · 10^-12 for more than 17 and 4.8 · 10^-11 for more than 16. These are
    /// sums of the binomial distribution in exact arithmetic.
    #[test]
    fn most_by_chance_matches_the_binomial_distribution() {
        assert_eq!([64, 512, 1, 0].map(most_by_chance), [8, 17, 1, 0]);
    }
}
