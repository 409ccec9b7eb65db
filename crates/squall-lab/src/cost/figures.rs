//! A figure, and a row of figures: one operation by every generator that has it.

use std::collections::BTreeMap;

use serde::Serialize;
use squall_measure::Spread;

use super::generators::Generator;
use super::paper::Published;

/// What was measured of one thing.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    pub mean: f64,
}

impl Figure {
    /// The figure for `samples`, of which there is at least one.
    pub fn of(samples: &[f64]) -> Figure {
        let Spread { low, median, high } = Spread::of(samples.to_vec());
        Figure {
            lower_quartile: low,
            median,
            upper_quartile: high,
            mean: samples.iter().sum::<f64>() / samples.len() as f64,
        }
    }
}

/// Samples of each generator; those in the same place are of the same round.
pub type Samples = BTreeMap<Generator, Vec<f64>>;

/// What was measured of each generator, beside what was published.
#[derive(Debug, Serialize)]
pub struct Row {
    pub unit: &'static str,
    pub generators: BTreeMap<Generator, Figure>,
    pub paper: Published,
    #[serde(skip)]
    samples: Samples,
}

impl Row {
    /// A row of `samples` in `unit`.
    pub fn new(samples: Samples, unit: &'static str, paper: Published) -> Row {
        let figure = |(&generator, samples): (&Generator, &Vec<f64>)| {
            let figure = Figure::of(samples);
            (generator, figure)
        };
        Row {
            unit,
            generators: samples.iter().map(figure).collect(),
            paper,
            samples,
        }
    }

    /// The figure of `generator`, if it has this operation.
    pub fn get(&self, generator: Generator) -> Option<&Figure> {
        self.generators.get(&generator)
    }

    /// The median, over the rounds, of `one`'s sample as a multiple of `other`'s.
    pub fn ratio(&self, one: Generator, other: Generator) -> f64 {
        let ratios = self.samples[&one].iter().zip(&self.samples[&other]);
        Spread::of(ratios.map(|(one, other)| one / other).collect()).median
    }
}
