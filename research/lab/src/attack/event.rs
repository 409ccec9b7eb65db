//! Events: what is known of them, and what is not.

use squall::entropy::Input;

/// The kind of event, for accumulators.
const TIMER: u32 = 1;

/// Bits of an event's `cycles` and `num`.
pub const SECRET_BITS: u64 = 64;

/// A timer event, as the old RNG and the accumulators take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in jiffies: always known.
    pub jiffies: u32,
    /// When, in cycles.
    pub cycles: u32,
    /// Which key, or which block of which disk.
    pub num: u32,
    /// Whether `cycles` and `num` were drawn at random.
    pub is_secret: bool,
}

impl Event {
    /// Bits that the attacker does not know.
    pub fn secret_bits(&self) -> u64 {
        if self.is_secret { SECRET_BITS } else { 0 }
    }

    /// The event as the attacker knows it, with zeros for what they do not.
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

    /// The event as an input of an accumulator.
    pub fn to_input(self) -> Input {
        Input {
            source: TIMER,
            cycles: self.cycles,
            values: [self.jiffies, self.num],
        }
    }
}

/// `count` events behind `start` that say nothing, at times 4096 and 2048 jiffies apart in turns,
/// for each of which the estimator credits all it ever does.
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

/// `count` events one jiffy apart, from the one behind `start` on, of which the rest is random:
/// 64 bits each, for which the estimator credits none.
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
    use super::*;

    #[test]
    fn regular_times() {
        let times: Vec<_> = regular(10, 4).iter().map(|event| event.jiffies).collect();
        assert_eq!(times, [4106, 6154, 10250, 12298]);
        assert!(regular(10, 4).iter().all(|event| event.secret_bits() == 0));
    }

    #[test]
    fn what_the_attacker_knows() {
        let events = unpredictable(10, 2);
        assert_ne!(
            events[0].cycles, events[1].cycles,
            "by chance once in 2^32 runs"
        );
        assert_eq!(events.iter().map(Event::secret_bits).sum::<u64>(), 128);
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
