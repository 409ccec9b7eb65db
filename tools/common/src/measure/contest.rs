//! Contestants measured in turns, in rounds whose order follows no pattern. One that fails is out,
//! and the others go on.

use std::fmt;
use std::time::{Duration, Instant};

use super::{Orders, calls_in_batch, time};

/// Something that is measured beside others.
pub struct Contestant<'a> {
    pub name: String,
    /// Makes at least so many calls and gives the nanoseconds that one took, or why it cannot.
    pub batch: Box<dyn FnMut(u64) -> Result<f64, String> + 'a>,
}

impl<'a> Contestant<'a> {
    /// What `batch` measures: at least so many calls, in nanoseconds each.
    pub fn new(name: &str, batch: impl FnMut(u64) -> Result<f64, String> + 'a) -> Contestant<'a> {
        Contestant {
            name: name.to_owned(),
            batch: Box::new(batch),
        }
    }

    /// What `call` does; what it computes is to go through [`std::hint::black_box`].
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

/// How long a contest goes on.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Least rounds: they are made even if their time is over.
    pub least: usize,
    pub most: usize,
    /// Time after which no more round begins.
    pub time: Duration,
    /// Calls of a batch, or how long a batch is to take.
    pub batch: Batch,
}

/// How many calls make a batch.
#[derive(Clone, Copy, Debug)]
pub enum Batch {
    /// As many as fill this time, which is found out first and warms up.
    Time(Duration),
    /// So many, after one batch that is not counted.
    Calls(u64),
    /// One, and nothing that is not counted: a call is a batch in itself.
    Single,
}

/// What became of a contestant.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nanoseconds a call, an entry a round; none if the run was interrupted before the first.
    Samples(Vec<f64>),
    Failed(String),
}

/// Measures `contestants` in turns, and gives what became of each, in their order. `goes_on` is asked
/// behind every batch.
///
/// The orders of rounds are the next of `orders`.
///
/// If it does not go on, the round that was broken is not counted for anyone, so that rounds stay
/// comparable.
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
    fn who_fails_is_out_and_others_go_on() {
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
            // Two beginnings, a whole round with its end, and one batch more.
            asked.get() <= 2 + 3 + 1
        };
        let outcomes = run(&mut contestants, BUDGET, &goes_on);
        assert_eq!(outcomes[0], Outcome::Samples(vec![1e5]));
        assert_eq!(outcomes[1], Outcome::Samples(vec![2e5]));
    }
}
