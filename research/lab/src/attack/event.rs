//! Timer events, and what of them the attacker knows.

use squall::entropy::Input;

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn regular_times() {
        let times: Vec<_> = regular(10, 4).iter().map(|event| event.jiffies).collect();
        assert_eq!(times, [4106, 6154, 10250, 12298]);
        assert!(regular(10, 4).iter().all(|event| event.secret_bits() == 0));
    }

    #[test]
    fn secrets_are_hidden_from_the_attacker() {
        let events = unpredictable(10, 3);
        let cycles = events.iter().map(|event| event.cycles);
        assert!(
            cycles.collect::<BTreeSet<_>>().len() > 1,
            "by chance once in 2^64 runs"
        );
        assert_eq!(events.iter().map(Event::secret_bits).sum::<u64>(), 192);
        let known = Event {
            jiffies: 12,
            cycles: 0,
            num: 0,
            is_secret: true,
        };
        assert_eq!(events[1].without_secrets(), known);
        assert_eq!(regular(0, 1)[0].without_secrets(), regular(0, 1)[0]);
    }
}
