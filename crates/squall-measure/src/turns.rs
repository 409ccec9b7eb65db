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

/// Measures `peers` in turns, in batches of a millisecond: nanoseconds a call, a list for each
/// peer, with an entry for each round.
pub fn in_turns(peers: &mut [Peer], effort: Effort) -> Vec<Vec<f64>> {
    let calls: Vec<u64> = peers
        .iter_mut()
        .map(|peer| calls_in_batch(|calls| peer.time(calls)))
        .collect();
    let mut times = vec![Vec::new(); peers.len()];
    let clock = Instant::now();
    let mut round = 0;
    while round < effort.rounds || clock.elapsed() < effort.time {
        for place in 0..peers.len() {
            let turn = (round + place) % peers.len();
            times[turn].push(peers[turn].time(calls[turn]));
        }
        round += 1;
    }
    times
}
