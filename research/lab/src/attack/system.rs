//! Timer events, of which the attacker knows a part; and the systems under attack, which take them: the old RNG's two
//! devices, and squall's accumulators.
//!
//! Each system can be started any number of times in the same state, which the attacker knows.

use squall::entropy::whirlwind::{Whirlwind, WithSha512};
use squall::entropy::{Accumulator, HARDWARE_LEN, Input, Machine};
use squall_legacy_rng::Legacy;
use squall_robust_prng::Robust;

/// The events' source number for accumulators.
const TIMER: u32 = 1;

/// Number of secret bits of an event: all of `cycles` and `num`.
pub const SECRET_BITS: u64 = 64;

/// A timer event, an input of the old RNG and of the accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time in jiffies, which the attacker always knows.
    pub jiffies: u32,
    /// Time in CPU cycles.
    pub cycles: u32,
    /// The key that was pressed, or the disk and block.
    pub num: u32,
    /// Whether `cycles` and `num` were drawn at random.
    pub is_secret: bool,
}

impl Event {
    /// Number of bits that the attacker does not know.
    pub fn secret_bits(&self) -> u64 {
        if self.is_secret { SECRET_BITS } else { 0 }
    }

    /// The event as the attacker knows it, with zeros for the secrets.
    pub fn without_secrets(&self) -> Event {
        if self.is_secret {
            Event {
                cycles: 0,
                num: 0,
                ..*self
            }
        } else {
            *self
        }
    }

    /// The event as an accumulator's input.
    pub fn to_input(self) -> Input {
        Input {
            source: TIMER,
            cycles: self.cycles,
            values: [self.jiffies, self.num],
        }
    }
}

/// `count` predictable events after `start`, alternately 4096 and 2048 jiffies apart. The estimator
/// credits each with its maximum.
pub fn regular(start: u32, count: usize) -> Vec<Event> {
    let mut jiffies = start;
    let event = |step| {
        jiffies += step;
        Event {
            jiffies,
            cycles: 0,
            num: 0,
            is_secret: false,
        }
    };
    [4096, 2048]
        .into_iter()
        .cycle()
        .take(count)
        .map(event)
        .collect()
}

/// `count` events one jiffy apart after `start`, with 64 random bits each, for which the estimator
/// credits none.
pub fn unpredictable(start: u32, count: usize) -> Vec<Event> {
    let event = |jiffies| Event {
        jiffies,
        cycles: squall::u32(),
        num: squall::u32(),
        is_secret: true,
    };
    (start + 1..).take(count).map(event).collect()
}

/// A random number generator that takes input.
pub trait System {
    /// Takes an event.
    fn feed(&mut self, event: &Event);

    /// Fills `out` and returns the number of bytes given.
    fn read(&mut self, out: &mut [u8]) -> usize;

    /// Bits that the system has credited. None if it has no estimator.
    fn credited(&self) -> Option<u32> {
        None
    }
}

/// A system that can be started repeatedly in the same state.
pub struct Subject<Start> {
    /// Name in JSON.
    pub name: &'static str,
    /// Name in text.
    pub title: &'static str,
    /// Starts the system.
    pub start: Start,
}

/// A device of the old RNG.
#[derive(Clone, Copy)]
pub enum Device {
    Random,
    Urandom,
}

/// The old RNG, read through `device`.
pub fn legacy(device: Device) -> Subject<impl Fn() -> LegacyDevice> {
    // Any state will do, because the attacker has a copy.
    let known = Legacy::new(&squall::array::<256>());
    let (name, title) = match device {
        Device::Random => ("legacy_dev_random", "old /dev/random"),
        Device::Urandom => ("legacy_dev_urandom", "old /dev/urandom"),
    };
    Subject {
        name,
        title,
        start: move || LegacyDevice {
            legacy: known.clone(),
            device,
        },
    }
}

/// Whirlwind without its bootstrap and without input from its machine, so that only the events can
/// protect it.
pub fn whirlwind() -> Subject<impl Fn() -> Accumulated<Whirlwind<WithSha512, KnownMachine>>> {
    Subject {
        name: "whirlwind",
        title: "Whirlwind",
        start: || Accumulated(Whirlwind::new(KnownMachine)),
    }
}

/// The robust PRNG, with a seed that the attacker knows; the seed is public in its design.
pub fn robust() -> Subject<impl Fn() -> Accumulated<Robust>> {
    const LEN: usize = Robust::ELEMENT_LEN;
    let [x, x_prime] = [(); 2].map(|()| squall::array::<LEN>());
    Subject {
        name: "robust_489",
        title: "robust PRNG, n = 489",
        start: move || {
            let robust = Robust::new(&x, &x_prime);
            Accumulated(robust.expect("random elements are not zero"))
        },
    }
}

pub struct LegacyDevice {
    legacy: Legacy,
    device: Device,
}

impl System for LegacyDevice {
    fn feed(&mut self, event: &Event) {
        self.legacy
            .add_timer_event(event.jiffies, event.cycles, event.num);
    }

    fn read(&mut self, out: &mut [u8]) -> usize {
        match self.device {
            Device::Random => self.legacy.random(out),
            Device::Urandom => {
                self.legacy.urandom(out);
                out.len()
            }
        }
    }

    fn credited(&self) -> Option<u32> {
        Some(self.legacy.entropy_count().input)
    }
}

pub struct Accumulated<A>(A);

impl<A: Accumulator> System for Accumulated<A> {
    fn feed(&mut self, event: &Event) {
        self.0.add_input(event.to_input());
    }

    fn read(&mut self, out: &mut [u8]) -> usize {
        self.0.generate(out);
        out.len()
    }
}

/// A machine whose clock stands still, so that the attacker knows everything about it.
pub struct KnownMachine;

impl Machine for KnownMachine {
    fn cycles(&self) -> u64 {
        0
    }

    fn process(&self) -> u32 {
        1
    }

    fn cpu(&self) -> u32 {
        0
    }

    fn random(&self, out: &mut [u8; HARDWARE_LEN]) {
        out.fill(0);
    }
}
