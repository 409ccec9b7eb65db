//! What an examination has found: a verdict for each test, and one of all.
//!
//! A p-value is how likely a true random source is to give a statistic as extreme, to either side:
//! twice the smaller tail. A source that is too even fails as well as one that is too uneven.

use statrs::distribution::{
    Binomial, ChiSquared, ContinuousCDF as _, Discrete as _, DiscreteCDF as _, Normal,
};

/// How often a good source fails an examination, at most: once in 10,000. Each test fails below
/// this number divided by the number of tests (Bonferroni), whatever tests have in common. Of 20,000
/// keystreams of 1 MiB none has failed.
pub const FALSE_ALARM: f64 = 1e-4;

/// Every test of an examination.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Bytes that were examined.
    pub bytes: u64,
    /// The tests, always the same in the same order.
    pub tests: Vec<Test>,
}

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// What is tested.
    pub name: &'static str,
    /// What was computed; `detail` says what it is.
    pub statistic: f64,
    /// How likely a true random source is to be as far off.
    pub p_value: f64,
    /// The statistic, for people.
    pub detail: String,
}

impl Findings {
    /// Whether every test has passed.
    pub fn passed(&self) -> bool {
        self.failed().next().is_none()
    }

    /// The tests that have not.
    pub fn failed(&self) -> impl Iterator<Item = &Test> {
        let threshold = FALSE_ALARM / self.tests.len() as f64;
        let tests = self.tests.iter();
        tests.filter(move |test| !(threshold..).contains(&test.p_value))
    }
}

impl Test {
    /// That all of `counts` are of events that are equally likely.
    pub(super) fn of_counts(name: &'static str, counts: &[u64]) -> Test {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let square = |&count: &u64| (count as f64 - expected).powi(2) / expected;
        let statistic: f64 = counts.iter().map(square).sum();
        let freedom = counts.len() - 1;
        Test {
            name,
            statistic,
            p_value: chi_square(statistic, freedom as f64),
            detail: format!("chi-square {statistic:.1}, {freedom} expected"),
        }
    }
}

/// The p-value of a chi-square statistic with `freedom` degrees of freedom.
pub(super) fn chi_square(statistic: f64, freedom: f64) -> f64 {
    let distribution = ChiSquared::new(freedom).expect("degrees of freedom are more than zero");
    two_sided(distribution.cdf(statistic), distribution.sf(statistic))
}

/// The p-value of a statistic of the standard normal distribution.
pub(super) fn normal(statistic: f64) -> f64 {
    two_sided(0.5, Normal::standard().sf(statistic.abs()))
}

/// The p-value of `count` events in `trials`, each as likely as `rate`.
pub(super) fn binomial(count: u64, trials: u64, rate: f64) -> f64 {
    let distribution = Binomial::new(rate, trials).expect("a rate is between 0 and 1");
    let more = distribution.sf(count) + distribution.pmf(count);
    two_sided(distribution.cdf(count), more)
}

fn two_sided(less: f64, more: f64) -> f64 {
    (2.0 * less.min(more)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::{binomial, chi_square, normal};

    fn assert_close(value: f64, expected: f64) {
        let error = (value / expected - 1.0).abs();
        assert!(error < 1e-3, "{value:e} is not {expected:e}");
    }

    #[test]
    fn p_values_are_those_of_tables() {
        assert_close(normal(1.959_964), 0.05);
        assert_close(normal(-3.290_527), 0.001);
        assert_close(chi_square(310.457, 255.0), 0.02);
        assert_close(chi_square(205.421, 255.0), 0.02);
        assert_close(binomial(0, 10, 0.5), 2.0 / 1024.0);
        assert_close(binomial(10, 10, 0.5), 2.0 / 1024.0);
        assert_close(binomial(5, 10, 0.5), 1.0);
    }

    #[test]
    fn what_cannot_be_is_impossible_and_not_an_error() {
        assert_eq!(chi_square(0.0, 255.0), 0.0);
        assert_eq!(chi_square(1e15, 65_535.0), 0.0);
        assert_eq!(normal(1e9), 0.0);
        assert_eq!(binomial(1 << 40, 1 << 40, 1e-4), 0.0);
    }
}
