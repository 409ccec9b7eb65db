//! The scenarios of each attack: the events and which parts of them the attacker knows, what is read, and
//! what is claimed of every system.

use squall_legacy_rng::TRICKLE_THRESHOLD;

use super::report::ScenarioReport;
use super::system::{self, Device, Event, regular, unpredictable};
use super::trial::{Claim, run_trial};

/// The most that the old estimator credits for an event, in bits.
const MOST_CREDIT: u32 = 11;

/// Number of regular events after which the old RNG drops all but one of 4096.
const EVENTS_TO_THRESHOLD: u32 = TRICKLE_THRESHOLD / MOST_CREDIT + 1;

/// Number of regular events whose credit allows a transfer of 64 bytes to /dev/urandom's pool: 512
/// bits, beyond the 128 that are reserved.
const EVENTS_TO_TRANSFER: u32 = (512 + 128) / MOST_CREDIT + 1;

/// Events, a read, and what is claimed of each system.
pub struct Scenario {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    explanation: &'static str,
    events: Vec<Event>,
    bytes_asked: usize,
    device: Device,
    legacy: Claim,
    /// Bits that the old estimator credits for all events.
    credited_bits: u32,
    accumulators: Claim,
}

impl Scenario {
    /// Runs the scenario against every system.
    pub fn run(&self) -> ScenarioReport {
        let (events, asked, claim) = (&self.events, self.bytes_asked, self.accumulators);
        let (old, credited) = (system::legacy(self.device), Some(self.credited_bits));
        ScenarioReport {
            name: self.name,
            title: self.title,
            description: self.description,
            explanation: self.explanation,
            events: self.events.len(),
            secret_bits: self.events.iter().map(Event::secret_bits).sum(),
            systems: vec![
                run_trial(&old, events, asked, self.legacy, credited),
                run_trial(&system::whirlwind(), events, asked, claim, None),
                run_trial(&system::robust(), events, asked, claim, None),
            ],
        }
    }
}

/// Events without entropy are credited.
pub fn no_entropy() -> Scenario {
    Scenario {
        name: "no_entropy",
        title: "No entropy, high estimate",
        description: "Events without entropy, alternately 4096 and 2048 jiffies apart.",
        explanation: "\
The estimator credits 11 bits for each event, although the events have no entropy: /dev/random
returns bytes that anyone can compute. Whoever knows the state of an accumulator and every event
predicts its output too, but accumulators do not claim to have collected entropy.",
        events: regular(0, EVENTS_TO_THRESHOLD as usize),
        bytes_asked: 64,
        device: Device::Random,
        legacy: Claim::EverythingPredicted,
        credited_bits: MOST_CREDIT * EVENTS_TO_THRESHOLD,
        accumulators: Claim::EverythingPredicted,
    }
}

/// Events with entropy are not credited.
pub fn no_credit() -> Scenario {
    Scenario {
        name: "no_credit",
        title: "Much entropy, no estimate",
        description: "Events one jiffy apart, with 64 random bits each.",
        explanation: "\
The estimator sees only that the events are regular, and credits nothing, so /dev/random returns
nothing. The accumulators return everything that is requested, and the attacker predicts none of it.",
        events: unpredictable(0, 1000),
        bytes_asked: 64,
        device: Device::Random,
        legacy: Claim::NothingGiven,
        credited_bits: 0,
        accumulators: Claim::NothingPredicted,
    }
}

/// Events without credit are not transferred to /dev/urandom's pool. The second scenario is the
/// counterpart: the same events, followed by credit.
pub fn urandom() -> [Scenario; 2] {
    let secret = unpredictable(0, 1000);
    let mut followed = secret.clone();
    followed.extend(regular(1000, EVENTS_TO_TRANSFER as usize));
    [
        urandom_without_credit(secret),
        urandom_with_credit(followed),
    ]
}

fn urandom_without_credit(events: Vec<Event>) -> Scenario {
    Scenario {
        name: "urandom",
        title: "/dev/urandom",
        description: "\
The attacker knows the state, and no pool has credit. Then there are events one jiffy apart, with 64
random bits each, and no interrupts.",
        explanation: "\
Nothing is credited, so nothing is transferred from the input pool to the pool that /dev/urandom
reads: the attacker still knows its state, however much entropy goes in. The accumulators start from
a known state too, and the same events make their output unpredictable.",
        events,
        bytes_asked: 64,
        device: Device::Urandom,
        legacy: Claim::EverythingPredicted,
        credited_bits: 0,
        accumulators: Claim::NothingPredicted,
    }
}

/// Shows that the secrets were in the input pool all along.
fn urandom_with_credit(events: Vec<Event>) -> Scenario {
    Scenario {
        name: "urandom_with_credit",
        title: "/dev/urandom, with credit for nothing",
        description: "\
The same known state and the same events, followed by events without entropy, alternately 4096 and
2048 jiffies apart. Then /dev/urandom is read.",
        explanation: "\
The events without entropy earn enough credit for the next read to transfer 64 bytes, and the
attacker no longer predicts /dev/urandom. So the random bits were in the input pool all the time:
only the estimate kept them there.",
        events,
        bytes_asked: 64,
        device: Device::Urandom,
        legacy: Claim::NothingPredicted,
        credited_bits: MOST_CREDIT * EVENTS_TO_TRANSFER,
        accumulators: Claim::NothingPredicted,
    }
}

/// While enough is credited, /dev/random drops new events.
pub fn random() -> Scenario {
    // Of 4096 events, the first one above the threshold is not dropped.
    let count = EVENTS_TO_THRESHOLD + 1;
    let mut events = regular(0, count as usize);
    let last = events.last().map_or(0, |event| event.jiffies);
    events.extend(unpredictable(last, 4000));
    Scenario {
        name: "random",
        title: "/dev/random",
        description: "\
The attacker knows the state, and no pool has credit. Events without entropy, alternately 4096 and
2048 jiffies apart, come until the old RNG drops all but one of 4096 events. Then it drops 4000
events one jiffy apart, with 64 random bits each. There are no interrupts.",
        explanation: "\
The undeserved credit makes the old RNG drop all the entropy it is offered, and /dev/random returns
predictable bytes until its credit is used up. The accumulators count no credit and drop nothing.",
        events,
        bytes_asked: 512,
        device: Device::Random,
        legacy: Claim::EverythingPredicted,
        credited_bits: MOST_CREDIT * count,
        accumulators: Claim::NothingPredicted,
    }
}
