//! A figure, and a row of figures: one operation by each generator that has it.

use std::collections::BTreeMap;

use serde::Serialize;
use squall_tools::measure::Spread;

use super::generators::Generator;
use super::paper::Published;

/// Median and quartiles of samples. Each sample is the mean of a batch, except for bootstraps and
/// forks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    pub mean: f64,
}

impl Figure {
    /// Summarises `samples`, which must not be empty.
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

/// Samples of each generator. Samples at the same index are from the same round.
pub type Samples = BTreeMap<Generator, Vec<f64>>;

/// One operation's figures, measured for each generator and published.
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

    /// The median over all rounds of `one`'s sample divided by `other`'s.
    pub fn ratio(&self, one: Generator, other: Generator) -> f64 {
        let ratios = self.samples[&one].iter().zip(&self.samples[&other]);
        Spread::of(ratios.map(|(one, other)| one / other).collect()).median
    }
}

#[cfg(test)]
mod tests {
    use super::super::paper;
    use super::*;

    #[test]
    fn a_figure_of_five() {
        let Figure {
            lower_quartile,
            median,
            upper_quartile,
            mean,
        } = Figure::of(&[5.0, 1.0, 4.0, 2.0, 13.0]);
        assert_eq!([lower_quartile, median, upper_quartile], [2.0, 4.0, 5.0]);
        assert_eq!(mean, 5.0);
    }

    /// Ratios 4, 2 and 8 have the median 4. The ratio of the medians would be 2.
    #[test]
    fn ratios_compare_samples_of_one_round() {
        let samples = Samples::from([
            (Generator::Legacy, vec![4.0, 20.0, 800.0]),
            (Generator::Robust489, vec![1.0, 10.0, 100.0]),
        ]);
        let row = Row::new(samples, "ns", paper::NOT_PUBLISHED);
        assert_eq!(row.ratio(Generator::Legacy, Generator::Robust489), 4.0);
        assert_eq!(row.ratio(Generator::Robust489, Generator::Legacy), 0.25);
        assert_eq!(row.get(Generator::Legacy).map(|f| f.median), Some(20.0));
        assert!(row.get(Generator::Robust705).is_none());
    }
}
