//! What contestants took, as points of a workload.

use squall_tools::Failure;
use squall_tools::measure::contest::{Budget, Contestant, Outcome, in_turns};

use crate::report::model::{Figure, Point, Series, Workload};
use crate::session::Session;

/// A place on the axis of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub at: u64,
    /// Random bytes of an operation; 0 where a rate means nothing.
    pub bytes: u64,
}

impl Place {
    /// The length of an operation in bytes, all of which are random.
    pub fn of_bytes(bytes: u64) -> Place {
        Place { at: bytes, bytes }
    }
}

/// A contestant whose batches are one `run` each, which gives the nanoseconds of an operation.
pub fn single<'a>(
    source: &str,
    mut run: impl FnMut() -> Result<f64, Failure> + 'a,
) -> Contestant<'a> {
    Contestant::new(source, move |_| run().map_err(Failure::into_text))
}

pub type Failed = (String, String);

impl Workload {
    /// Measures `contestants`, whose names are sources', in turns, and adds what they took at `place`.
    /// The report names each that failed.
    pub fn measure(
        &mut self,
        place: Place,
        mut contestants: Vec<Contestant>,
        budget: Budget,
        session: &Session,
    ) -> Vec<Failed> {
        let goes_on = || {
            session.tick();
            !session.is_interrupted()
        };
        let orders = &mut *session.orders.borrow_mut();
        let outcomes = in_turns(&mut contestants, budget, orders, &goes_on);
        let mut failed = Vec::new();
        for (contestant, outcome) in contestants.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Samples(samples) if samples.iter().all(|&ns| ns > 0.0) => {
                    self.add(&contestant.name, place, samples);
                }
                Outcome::Samples(_) => failed.push((contestant.name, "it took no time".into())),
                Outcome::Failed(reason) => failed.push((contestant.name, reason)),
            }
        }
        let line = |(name, reason): &Failed| format!("{name}, {}: {reason}", self.place(place.at));
        let lines: Vec<String> = failed.iter().map(line).collect();
        self.failures.extend(lines);
        failed
    }

    /// Adds what the source named `source` took at `place`, behind what it has taken there already.
    fn add(&mut self, source: &str, place: Place, samples: Vec<f64>) {
        if samples.is_empty() {
            return;
        }
        let points = self.points_of(source);
        match points.iter_mut().find(|point| point.at == place.at) {
            Some(point) => {
                point.ns = Figure::from_samples([&point.ns.samples[..], &samples].concat())
            }
            None => points.push(Point {
                at: place.at,
                bytes: place.bytes,
                ns: Figure::from_samples(samples),
                discarded: None,
            }),
        }
    }

    fn points_of(&mut self, source: &str) -> &mut Vec<Point> {
        let known = self
            .series
            .iter()
            .position(|series| series.source == source);
        let index = known.unwrap_or_else(|| {
            self.series.push(Series {
                source: source.into(),
                points: Vec::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[index].points
    }
}
