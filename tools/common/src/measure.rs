//! Compares things on a noisy machine: in turns, with medians.
//!
//! The ratio of two batches that ran back to back hardly depends on the machine's other work. Each
//! round gives one ratio, and the order within a round changes every time. A sample is the mean of a
//! batch of calls, so a median is one of batches. [`contest`] is for things that may fail or be
//! interrupted, [`in_turns`] for those that do neither.

pub mod contest;
#[allow(unsafe_code, reason = "fork and waitpid have no safe wrapper")]
pub mod fork;
pub mod machine;
mod turns;

pub use turns::{Effort, Orders, Peer, in_turns};

use std::time::{Duration, Instant};

use serde::Serialize;

/// The length of a batch: long compared with reading the clock, but shorter than a time slice of the
/// scheduler, so most batches run uninterrupted even on a busy machine.
pub const BATCH: Duration = Duration::from_millis(1);

/// A median with its quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The lower quartile: a quarter of the values is below it.
    pub low: f64,
    pub median: f64,
    /// The upper quartile: a quarter of the values is above it.
    pub high: f64,
}

impl Spread {
    /// The spread of `values`, which must not be empty.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values[(part * (values.len() - 1) as f64).round() as usize];
        let middle = [(values.len() - 1) / 2, values.len() / 2].map(|place| values[place]);
        Spread {
            low: at(0.25),
            median: (middle[0] + middle[1]) / 2.0,
            high: at(0.75),
        }
    }
}

/// The interval that holds the true median in 95 of 100 samples like `values`. Nothing is assumed
/// about the distribution: the number of values below the median is binomial, and the bounds lie 1.96
/// of its standard deviations, √n / 2, from the middle. With fewer than six values the bounds are
/// the least and the greatest, which hold it less often: in 75 of 100 cases with three values.
pub fn interval_of_median(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let middle = (values.len() - 1) as f64 / 2.0;
    let reach = 1.96 * (values.len() as f64).sqrt() / 2.0;
    let at = |place: f64| values[place.clamp(0.0, 2.0 * middle) as usize];
    [at((middle - reach).floor()), at((middle + reach).ceil())]
}

/// The number of calls that fill a batch of `wanted`. `batch` makes that many calls and gives the
/// nanoseconds of one; trying it also warms up.
fn calls_in_batch(
    wanted: Duration,
    batch: &mut dyn FnMut(u64) -> Result<f64, String>,
) -> Result<u64, String> {
    /// Stops the search if calls seem to take no time.
    const MOST: u64 = 1 << 40;
    let wanted = wanted.as_nanos() as f64;
    let mut calls = 1;
    while calls < MOST {
        let taken = batch(calls)? * calls as f64;
        if taken >= wanted / 2.0 {
            return Ok(((calls as f64 * wanted / taken) as u64).max(1));
        }
        calls *= 2;
    }
    Err("a call takes no time".into())
}

/// Nanoseconds of one call, as the mean of `calls` calls.
#[inline(never)]
pub fn time(calls: u64, call: &mut impl FnMut()) -> f64 {
    let clock = Instant::now();
    for _ in 0..calls {
        call();
    }
    clock.elapsed().as_nanos() as f64 / calls as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of nine values, two are below the lower quartile and two above the upper one.
    #[test]
    fn quartiles() {
        let values = [50.0, 90.0, 10.0, 70.0, 30.0, 20.0, 80.0, 40.0, 60.0];
        let Spread { low, median, high } = Spread::of(values.into());
        assert_eq!([low, median, high], [30.0, 50.0, 70.0]);
        assert_eq!(Spread::of(vec![1.0, 9.0, 2.0, 4.0]).median, 3.0);
        let Spread { low, median, high } = Spread::of(vec![7.0]);
        assert_eq!([low, median, high], [7.0; 3]);
    }

    /// Five calls of 200 µs fill a batch of a millisecond.
    #[test]
    fn batches_of_a_millisecond() {
        let calls_in = |ns| calls_in_batch(BATCH, &mut |_| Ok(ns)).unwrap();
        assert_eq!(calls_in(200e3), 5);
        assert_eq!(calls_in(5e6), 1);
    }

    #[test]
    fn the_interval_is_where_a_binomial_table_has_it() {
        // Order statistics 40 and 61 of 100 hold the median with 96.5 %, 41 and 60 with 94.3 %.
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(interval_of_median(values), [40.0, 61.0]);
        assert_eq!(interval_of_median(vec![7.0]), [7.0, 7.0]);
    }
}
