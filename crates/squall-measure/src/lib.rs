//! Things compared on a noisy machine: in turns, with medians.
//!
//! The ratio of two batches that ran back to back hardly depends on what else the machine did;
//! each round gives one. The order within a round changes from one to the next. Every sample is the
//! mean of a batch of calls, so a median is one of batches. [`compare`] is for two things that
//! work on the same memory, [`in_turns`] is for any number.

pub mod machine;
mod turns;

pub use turns::{Effort, Orders, Peer, in_turns};

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Least rounds of a comparison, and the time it goes on for.
const ROUNDS: usize = 41;
const ENOUGH: Duration = Duration::from_secs(4);

/// Time a batch takes: long beside the clock's cost, and shorter than a time slice of the
/// scheduler, so that most batches run uninterrupted on a busy machine too.
const BATCH: Duration = Duration::from_millis(1);

/// A median with its quartiles.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// A quarter of the values is below.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// A quarter of the values is above.
    pub high: f64,
}

impl Spread {
    /// The spread of `values`, of which there is at least one.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values[(part * (values.len() - 1) as f64).round() as usize];
        Spread {
            low: at(0.25),
            median: at(0.5),
            high: at(0.75),
        }
    }
}

/// Where the median of what `values` are a sample of is, in 95 samples of 100. Nothing is
/// assumed about its distribution: the number of values below the median is binomial, and the
/// bounds are the values 1.96 standard deviations of it, √n / 2, from the middle.
pub fn interval_of_median(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let middle = (values.len() - 1) as f64 / 2.0;
    let reach = 1.96 * (values.len() as f64).sqrt() / 2.0;
    let at = |place: f64| values[place.clamp(0.0, 2.0 * middle) as usize];
    [at((middle - reach).floor()), at((middle + reach).ceil())]
}

/// Times of one call of ours and one of a peer, in nanoseconds, a pair a round.
#[derive(Clone, Debug)]
pub struct Pairs(Vec<[f64; 2]>);

impl Pairs {
    /// Pairs that were measured elsewhere.
    pub fn new(pairs: Vec<[f64; 2]>) -> Pairs {
        Pairs(pairs)
    }

    /// Our time, in nanoseconds.
    pub fn ours(&self) -> Spread {
        self.spread(|[ours, _]| ours)
    }

    /// The peer's time, in nanoseconds.
    pub fn theirs(&self) -> Spread {
        self.spread(|[_, theirs]| theirs)
    }

    /// How many times as fast as the peer we are.
    pub fn speedup(&self) -> Spread {
        self.spread(|[ours, theirs]| theirs / ours)
    }

    /// Our time as a part of the peer's.
    pub fn part(&self) -> Spread {
        self.spread(|[ours, theirs]| ours / theirs)
    }

    /// Our time less the peer's, in nanoseconds.
    pub fn difference(&self) -> Spread {
        self.spread(|[ours, theirs]| ours - theirs)
    }

    fn spread(&self, of: impl Fn([f64; 2]) -> f64) -> Spread {
        Spread::of(self.0.iter().copied().map(of).collect())
    }
}

/// Measures `ours` and `theirs` in turns, both on `on`.
pub fn compare<T: ?Sized>(
    on: &mut T,
    mut ours: impl FnMut(&mut T),
    mut theirs: impl FnMut(&mut T),
) -> Pairs {
    let our_calls = calls_in_batch(|calls| time(calls, on, &mut ours));
    let their_calls = calls_in_batch(|calls| time(calls, on, &mut theirs));
    let mut pairs = Vec::new();
    let clock = Instant::now();
    while pairs.len() < ROUNDS || clock.elapsed() < ENOUGH {
        pairs.push(if pairs.len() % 2 == 0 {
            let first = time(our_calls, on, &mut ours);
            [first, time(their_calls, on, &mut theirs)]
        } else {
            let first = time(their_calls, on, &mut theirs);
            [time(our_calls, on, &mut ours), first]
        });
    }
    Pairs(pairs)
}

/// How many calls fill a batch of `time`, which gives nanoseconds a call; warms up on the way.
fn calls_in_batch(mut time: impl FnMut(u64) -> f64) -> u64 {
    let mut calls = 1;
    loop {
        let batch = time(calls) * calls as f64;
        let wanted = BATCH.as_nanos() as f64;
        if batch >= wanted / 2.0 {
            return ((calls as f64 * wanted / batch) as u64).max(1);
        }
        calls *= 2;
    }
}

/// Nanoseconds a call, over `calls` of them.
#[inline(never)]
fn time<T: ?Sized>(calls: u64, on: &mut T, call: &mut impl FnMut(&mut T)) -> f64 {
    let clock = Instant::now();
    for _ in 0..calls {
        call(black_box(&mut *on));
    }
    clock.elapsed().as_nanos() as f64 / calls as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine values: two are below the lower quartile, and two above the upper one.
    #[test]
    fn quartiles() {
        let values = [50.0, 90.0, 10.0, 70.0, 30.0, 20.0, 80.0, 40.0, 60.0];
        let Spread { low, median, high } = Spread::of(values.into());
        assert_eq!([low, median, high], [30.0, 50.0, 70.0]);
        let Spread { low, median, high } = Spread::of(vec![7.0]);
        assert_eq!([low, median, high], [7.0; 3]);
    }

    /// Ours is the first of a pair.
    #[test]
    fn pairs_are_compared_within_a_round() {
        let pairs = Pairs::new(vec![[1.0, 4.0], [10.0, 20.0], [100.0, 800.0]]);
        assert_eq!(pairs.ours().median, 10.0);
        assert_eq!(pairs.theirs().median, 20.0);
        assert_eq!(pairs.speedup().median, 4.0);
        assert_eq!(pairs.part().median, 0.25);
        assert_eq!(pairs.difference().median, -10.0);
    }

    /// A call of 200 µs fills a batch of a millisecond five times.
    #[test]
    fn batches_of_a_millisecond() {
        assert_eq!(calls_in_batch(|_| 200e3), 5);
        assert_eq!(calls_in_batch(|_| 5e6), 1);
    }

    #[test]
    fn the_interval_is_where_a_binomial_table_has_it() {
        // Order statistics 40 and 61 of 100 hold the median with 96.5 %, 41 and 60 with 94.3 %.
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(interval_of_median(values), [40.0, 61.0]);
        assert_eq!(interval_of_median(vec![7.0]), [7.0, 7.0]);
    }
}
