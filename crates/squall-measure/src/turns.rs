//! Any number of peers, in turns.

use std::time::{Duration, Instant};

use crate::{calls_in_batch, time};

/// How long a comparison goes on: until both are reached.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Least rounds.
    pub rounds: usize,
    /// Least time.
    pub time: Duration,
}

/// A call that is measured.
pub struct Peer<'a>(Box<dyn FnMut(u64) -> f64 + 'a>);

impl<'a> Peer<'a> {
    /// What `call` does; what it computes is to go through [`std::hint::black_box`].
    pub fn new(mut call: impl FnMut() + 'a) -> Peer<'a> {
        Peer(Box::new(move |calls| {
            time(calls, &mut (), &mut |()| call())
        }))
    }

    /// What times itself: `batch` makes at least so many calls and gives the nanoseconds that
    /// one took.
    pub fn self_timed(batch: impl FnMut(u64) -> f64 + 'a) -> Peer<'a> {
        Peer(Box::new(batch))
    }

    /// Nanoseconds a call, over `calls` of them.
    fn time(&mut self, calls: u64) -> f64 {
        (self.0)(calls)
    }
}

/// Measures `peers` in turns, in batches of a millisecond: nanoseconds a call, the mean of a
/// batch; a list for each peer, with an entry for each round.
pub fn in_turns(peers: &mut [Peer], effort: Effort) -> Vec<Vec<f64>> {
    let calls: Vec<u64> = peers
        .iter_mut()
        .map(|peer| calls_in_batch(|calls| peer.time(calls)))
        .collect();
    let mut times = vec![Vec::new(); peers.len()];
    let mut orders = Orders::default();
    let clock = Instant::now();
    let mut round = 0;
    while round < effort.rounds || clock.elapsed() < effort.time {
        for turn in orders.next(peers.len()) {
            times[turn].push(peers[turn].time(calls[turn]));
        }
        round += 1;
    }
    times
}

/// Orders of peers that follow no pattern, and are the same in every run: each comes behind each
/// other one equally often, which a rotation would not bring about.
#[derive(Clone, Debug, Default)]
pub struct Orders(u64);

impl Orders {
    /// The numbers below `count` in the next order.
    pub fn next(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for end in (1..count).rev() {
            order.swap(end, self.below(end + 1));
        }
        order
    }

    /// A number below `bound`, from the upper half of a linear congruential generator (Knuth's
    /// MMIX).
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

    /// Nobody sleeps shorter than asked; how much longer is the machine's affair.
    #[test]
    fn a_peer_takes_at_least_its_time() {
        const SHORT: Duration = Duration::from_micros(200);
        const LONG: Duration = Duration::from_millis(2);
        let mut calls = 0;
        let mut peers = [
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
        let times = in_turns(&mut peers, effort);
        drop(peers);
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
        let times = in_turns(&mut [Peer::self_timed(|_| 1e6)], effort);
        assert!(clock.elapsed() >= effort.time);
        assert!(times[0].iter().all(|&time| time == 1e6));
    }

    /// Each of the six orders of three, as often as chance has it: 1000 ± 29 of 6000.
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
