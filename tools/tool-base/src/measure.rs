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

use std::time::Duration;

pub use contest::{BATCH, Orders, time};

use contest::{Batch, Budget, Contestant, Outcome};
use serde::Serialize;

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

#[cfg(test)]
mod tests {
    use std::thread::sleep;

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

    #[test]
    fn the_interval_is_where_a_binomial_table_has_it() {
        // Order statistics 40 and 61 of 100 hold the median with 96.5 %, 41 and 60 with 94.3 %.
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(interval_of_median(values), [40.0, 61.0]);
        assert_eq!(interval_of_median(vec![7.0]), [7.0, 7.0]);
    }

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
}
