//! Measures contestants in turns, in rounds whose order follows no pattern. One that fails drops out,
//! and the others continue.

use std::fmt;
use std::time::{Duration, Instant};

/// Something to measure.
pub struct Contestant<'a> {
    pub name: String,
    /// Makes at least that many calls and gives the nanoseconds of one, or why it failed.
    pub batch: Box<dyn FnMut(u64) -> Result<f64, String> + 'a>,
}

impl<'a> Contestant<'a> {
    /// A contestant that times itself: see [`Contestant::batch`].
    pub fn new(name: &str, batch: impl FnMut(u64) -> Result<f64, String> + 'a) -> Contestant<'a> {
        Contestant {
            name: name.to_owned(),
            batch: Box::new(batch),
        }
    }

    /// A contestant that calls `call`, whose result should go through [`std::hint::black_box`].
    pub fn of_calls(name: &str, mut call: impl FnMut() + 'a) -> Contestant<'a> {
        Contestant::new(name, move |calls| Ok(time(calls, &mut call)))
    }
}

impl fmt::Debug for Contestant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contestant")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The length of a contest.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The least number of rounds, made even after `time` is over.
    pub least: usize,
    pub most: usize,
    /// The time after which no new round begins.
    pub time: Duration,
    /// The size of a batch.
    pub batch: Batch,
}

/// The size of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Batch {
    /// As many calls as fill this time; finding out also warms up.
    Time(Duration),
    /// This many calls, after one batch that is not counted.
    Calls(u64),
    /// A single call, without a warm-up.
    Single,
}

/// The result of a contestant.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nanoseconds per call, an entry for each round; empty if the first round was interrupted.
    Samples(Vec<f64>),
    Failed(String),
}

/// Measures `contestants` in turns, and gives their outcomes in the same order. The order within each
/// round comes from `orders`.
///
/// It asks `goes_on` after every batch. An interrupted round is dropped for all contestants, so the
/// rounds stay comparable.
pub fn in_turns(
    contestants: &mut [Contestant],
    budget: Budget,
    orders: &mut Orders,
    goes_on: &dyn Fn() -> bool,
) -> Vec<Outcome> {
    let begin = |contestant: &mut Contestant| {
        if goes_on() {
            Run::begin(contestant, budget.batch)
        } else {
            Run::default()
        }
    };
    let mut runs: Vec<Run> = contestants.iter_mut().map(begin).collect();
    let clock = Instant::now();
    let mut round = 0;
    while round < budget.least || (round < budget.most && clock.elapsed() < budget.time) {
        for turn in orders.next(runs.len()) {
            if goes_on() {
                runs[turn].go(&mut contestants[turn]);
            }
        }
        if !goes_on() {
            break;
        }
        round += 1;
    }
    let cut = |run: Run| match run.outcome {
        Outcome::Samples(mut samples) => {
            samples.truncate(round);
            Outcome::Samples(samples)
        }
        failed => failed,
    };
    runs.into_iter().map(cut).collect()
}

/// The length of a batch: long compared with reading the clock, but shorter than a time slice of the
/// scheduler, so most batches run uninterrupted even on a busy machine.
pub const BATCH: Duration = Duration::from_millis(1);

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

#[derive(Default)]
struct Run {
    calls: u64,
    outcome: Outcome,
}

impl Run {
    fn begin(contestant: &mut Contestant, batch: Batch) -> Run {
        let calls = match batch {
            Batch::Time(time) => calls_in_batch(time, &mut contestant.batch),
            Batch::Calls(calls) => (contestant.batch)(calls).map(|_| calls),
            Batch::Single => Ok(1),
        };
        match calls {
            Ok(calls) => Run {
                calls,
                outcome: Outcome::default(),
            },
            Err(reason) => Run {
                calls: 0,
                outcome: Outcome::Failed(reason),
            },
        }
    }

    fn go(&mut self, contestant: &mut Contestant) {
        let Outcome::Samples(samples) = &mut self.outcome else {
            return;
        };
        match (contestant.batch)(self.calls) {
            Ok(ns) if ns.is_finite() => samples.push(ns),
            Ok(ns) => self.outcome = Outcome::Failed(format!("a time of {ns} ns")),
            Err(reason) => self.outcome = Outcome::Failed(reason),
        }
    }
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome::Samples(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const BUDGET: Budget = Budget {
        least: 3,
        most: 5,
        time: Duration::ZERO,
        batch: Batch::Time(Duration::from_micros(100)),
    };

    fn run(
        contestants: &mut [Contestant],
        budget: Budget,
        goes_on: &dyn Fn() -> bool,
    ) -> Vec<Outcome> {
        in_turns(contestants, budget, &mut Orders::default(), goes_on)
    }

    fn always() -> bool {
        true
    }

    #[test]
    fn batches_fill_their_time_and_rounds_are_counted() {
        let calls = Cell::new(0);
        let mut contestants = [
            Contestant::new("counted", |count| {
                calls.set(count);
                Ok(1000.0)
            }),
            Contestant::new("slow", |_| Ok(1e9)),
        ];
        let outcomes = run(&mut contestants, BUDGET, &always);
        assert_eq!(calls.get(), 100);
        assert_eq!(outcomes[0], Outcome::Samples(vec![1000.0; 3]));
        assert_eq!(outcomes[1], Outcome::Samples(vec![1e9; 3]));
        let long = Budget {
            time: Duration::from_secs(60),
            ..BUDGET
        };
        let outcomes = run(&mut contestants, long, &always);
        assert_eq!(outcomes[0], Outcome::Samples(vec![1000.0; 5]));
    }

    #[test]
    fn a_contestant_that_fails_is_out_and_others_go_on() {
        let mut count = 0;
        let mut contestants = [
            Contestant::new("ends", |_| {
                count += 1;
                match count {
                    ..3 => Ok(2e5),
                    _ => Err("gone".into()),
                }
            }),
            Contestant::new("goes on", |_| Ok(2e5)),
        ];
        let outcomes = run(&mut contestants, BUDGET, &always);
        assert_eq!(outcomes[0], Outcome::Failed("gone".into()));
        assert_eq!(outcomes[1], Outcome::Samples(vec![2e5; 3]));
    }

    #[test]
    fn a_time_that_cannot_be_is_a_failure() {
        let single = Budget {
            batch: Batch::Single,
            ..BUDGET
        };
        let mut contestants =
            [f64::NAN, f64::INFINITY].map(|ns| Contestant::new("", move |_| Ok(ns)));
        let outcomes = run(&mut contestants, single, &always);
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        assert!(outcomes.iter().all(failed));
        let timeless = run(&mut [Contestant::new("", |_| Ok(0.0))], BUDGET, &always);
        assert!(failed(&timeless[0]));
    }

    #[test]
    fn a_broken_round_is_not_counted() {
        let asked = Cell::new(0);
        let mut contestants = [1e5, 2e5].map(|ns| Contestant::new("", move |_| Ok(ns)));
        let goes_on = || {
            asked.set(asked.get() + 1);
            // Two first batches, a complete round with the check at its end, and one more batch.
            asked.get() <= 2 + 3 + 1
        };
        let outcomes = run(&mut contestants, BUDGET, &goes_on);
        assert_eq!(outcomes[0], Outcome::Samples(vec![1e5]));
        assert_eq!(outcomes[1], Outcome::Samples(vec![2e5]));
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
