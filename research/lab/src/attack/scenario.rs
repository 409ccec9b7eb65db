//! The scenarios of each attack: the events, what is read, and what is claimed of every system.

use squall_legacy_rng::TRICKLE_THRESHOLD;

use super::event::{self, Event};
use super::report::ScenarioReport;
use super::system::{self, Device, Subject};
use super::trial::{Claim, Expected, play};

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
    story: &'static str,
    lesson: &'static str,
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
    pub fn play(&self) -> ScenarioReport {
        let try_on = |subject: Subject, claim, credited_bits| {
            let expected = Expected {
                claim,
                credited_bits,
            };
            play(&subject, &self.events, self.bytes_asked, expected)
        };
        ScenarioReport {
            name: self.name,
            title: self.title,
            story: self.story,
            lesson: self.lesson,
            events: self.events.len(),
            secret_bits: self.events.iter().map(Event::secret_bits).sum(),
            systems: vec![
                try_on(
                    system::legacy(self.device),
                    self.legacy,
                    Some(self.credited_bits),
                ),
                try_on(system::whirlwind(), self.accumulators, None),
                try_on(system::robust(), self.accumulators, None),
            ],
        }
    }
}

/// Events without entropy are credited.
pub fn no_entropy() -> Scenario {
    Scenario {
        name: "no_entropy",
        title: "No entropy, high estimate",
        story: "Events that say nothing, 4096 and 2048 jiffies apart in turns.",
        lesson: "\
The estimator credits 11 bits an event for nothing, and /dev/random gives out as true randomness
what anyone can compute. The accumulators do not make entropy of nothing either: whoever knows
their state and every event predicts them. But they credit nothing and claim nothing.",
        events: event::regular(0, EVENTS_TO_THRESHOLD as usize),
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
        story: "Events one jiffy apart, with 64 random bits each.",
        lesson: "\
The estimator sees only that the events come regularly and credits nothing: /dev/random has
nothing to give. The accumulators give all that is asked for, and nobody predicts it.",
        events: event::unpredictable(0, 1000),
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
    let secret = event::unpredictable(0, 1000);
    let mut followed = secret.clone();
    followed.extend(event::regular(1000, EVENTS_TO_TRANSFER as usize));
    [
        urandom_without_credit(secret),
        urandom_with_credit(followed),
    ]
}

fn urandom_without_credit(events: Vec<Event>) -> Scenario {
    Scenario {
        name: "urandom",
        title: "/dev/urandom",
        story: "\
The state is known, and no pool has any credit. Then come events one jiffy apart, with 64 random
bits each, and no interrupt.",
        lesson: "\
Nothing is credited, so nothing goes from the input pool to the pool that /dev/urandom reads: a
state that was known once stays known, however much goes in. The accumulators, from a state just
as well known and with the same events, are out of the attacker's reach.",
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
        story: "\
A known state again, and the same events; then some that say nothing, 4096 and 2048 jiffies apart
in turns, before /dev/urandom is read.",
        lesson: "\
Events that everyone knows earn the credit with which the next read transfers 64 bytes, and nobody
predicts what /dev/urandom gives now. So the random bits had been in the input pool: nothing but
the estimate kept them there.",
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
    let regular = EVENTS_TO_THRESHOLD + 1;
    let mut events = event::regular(0, regular as usize);
    let last = events.last().map_or(0, |event| event.jiffies);
    events.extend(event::unpredictable(last, 4000));
    Scenario {
        name: "random",
        title: "/dev/random",
        story: "\
The state is known, and no pool has any credit. Events that say nothing, 4096 and 2048 jiffies
apart in turns, until most are dropped; then 4000 events one jiffy apart, with 64 random bits each,
which are offered and dropped: fewer than the 4096 of which one is taken. No interrupt comes.",
        lesson: "\
The credit for nothing makes the old RNG drop all the entropy it is offered, and /dev/random gives
out predictable bytes until its credit is used up. The accumulators count no credit and drop
nothing.",
        events,
        bytes_asked: 512,
        device: Device::Random,
        legacy: Claim::EverythingPredicted,
        credited_bits: MOST_CREDIT * regular,
        accumulators: Claim::NothingPredicted,
    }
}
