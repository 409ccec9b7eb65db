//! Measures any number of peers in turns.

use std::time::Duration;

use super::BATCH;
use super::contest::{self, Batch, Budget, Contestant, Outcome};

/// The least length of a comparison: it lasts until both limits are reached.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rounds: usize,
    pub time: Duration,
}

/// A call to measure, which cannot fail.
#[derive(Debug)]
pub struct Peer<'a>(Contestant<'a>);

impl<'a> Peer<'a> {
    /// Measures `call`, whose result should go through [`std::hint::black_box`].
    pub fn new(call: impl FnMut() + 'a) -> Peer<'a> {
        Peer(Contestant::of_calls("", call))
    }

    /// Measures calls that time themselves: `batch` makes at least that many calls and gives the
    /// nanoseconds of one.
    pub fn self_timed(mut batch: impl FnMut(u64) -> f64 + 'a) -> Peer<'a> {
        Peer(Contestant::new("", move |calls| Ok(batch(calls))))
    }
}

/// Measures `peers` in turns, in batches of a millisecond. Gives nanoseconds per call: a list for each
/// peer, with an entry for each round.
pub fn in_turns(peers: Vec<Peer>, effort: Effort) -> Vec<Vec<f64>> {
    let mut contestants: Vec<Contestant> = peers
        .into_iter()
        .map(|Peer(contestant)| contestant)
        .collect();
    let budget = Budget {
        least: effort.rounds,
        most: usize::MAX,
        time: effort.time,
        batch: Batch::Time(BATCH),
    };
    let outcomes = contest::in_turns(&mut contestants, budget, &mut Orders::default(), &|| true);
    let samples = |outcome| match outcome {
        Outcome::Samples(samples) => samples,
        Outcome::Failed(reason) => panic!("a call that cannot fail: {reason}"),
    };
    outcomes.into_iter().map(samples).collect()
}

/// Orders of peers that follow no pattern and are the same in every run. Each peer comes after each
/// other one equally often, which a rotation would not achieve.
#[derive(Clone, Debug, Default)]
pub struct Orders(u64);

impl Orders {
    /// The numbers below `count`, in the next order.
    pub fn next(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for end in (1..count).rev() {
            order.swap(end, self.below(end + 1));
        }
        order
    }

    /// A number below `bound`, from the upper half of Knuth's linear congruential generator MMIX.
    fn below(&mut self, bound: usize) -> usize {
        let state = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = state.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as usize % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Instant;

    /// A sleep is never shorter than asked for; how much longer it is depends on the machine.
    #[test]
    fn a_peer_takes_at_least_its_time() {
        const SHORT: Duration = Duration::from_micros(200);
        const LONG: Duration = Duration::from_millis(2);
        let mut calls = 0;
        let peers = vec![
            Peer::new(|| {
                calls += 1;
                sleep(SHORT);
            }),
            Peer::new(|| sleep(LONG)),
        ];
        let effort = Effort {
            rounds: 5,
            time: Duration::from_millis(1),
        };
        let times = in_turns(peers, effort);
        for (times, least) in times.iter().zip([SHORT, LONG]) {
            assert_eq!(times.len(), 5);
            let least = least.as_nanos() as f64;
            assert!(times.iter().all(|&time| time >= least), "{times:?}");
        }
        assert!(calls >= 5);
    }

    #[test]
    fn a_comparison_takes_at_least_its_time() {
        let effort = Effort {
            rounds: 1,
            time: Duration::from_millis(20),
        };
        let clock = Instant::now();
        let times = in_turns(vec![Peer::self_timed(|_| 1e6)], effort);
        assert!(clock.elapsed() >= effort.time);
        assert!(times[0].iter().all(|&time| time == 1e6));
    }

    /// Each of the six orders of three comes as often as chance has it: 1000 ± 29 times in 6000.
    #[test]
    fn every_order_comes_equally_often() {
        let mut orders = Orders::default();
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            *counts.entry(orders.next(3)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (870..1130).contains(count)));
        assert!(orders.next(0).is_empty());
    }
}
