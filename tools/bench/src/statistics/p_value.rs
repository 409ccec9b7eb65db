//! How likely a true random source is to give a statistic as extreme, to either side: twice the
//! smaller tail. A source that is too even fails as well as one that is too uneven.

use statrs::distribution::{
    Binomial, ChiSquared, ContinuousCDF as _, Discrete as _, DiscreteCDF as _, Normal,
};

/// Of a chi-square statistic with `freedom` degrees of freedom.
pub(super) fn chi_square(statistic: f64, freedom: f64) -> f64 {
    let distribution = ChiSquared::new(freedom).expect("degrees of freedom are more than zero");
    two_sided(distribution.cdf(statistic), distribution.sf(statistic))
}

/// Of a statistic of the standard normal distribution.
pub(super) fn normal(statistic: f64) -> f64 {
    two_sided(0.5, Normal::standard().sf(statistic.abs()))
}

/// Of `count` events in `trials`, each as likely as `rate`.
pub(super) fn binomial(count: u64, trials: u64, rate: f64) -> f64 {
    let distribution = Binomial::new(rate, trials).expect("a rate is between 0 and 1");
    let more = distribution.sf(count) + distribution.pmf(count);
    two_sided(distribution.cdf(count), more)
}

/// Of the least of `tests` p-values, which may depend on each other (Bonferroni).
pub(super) fn least(p_values: impl IntoIterator<Item = f64>, tests: usize) -> f64 {
    let least = p_values.into_iter().fold(1.0, f64::min);
    (least * tests as f64).min(1.0)
}

fn two_sided(less: f64, more: f64) -> f64 {
    (2.0 * less.min(more)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::{binomial, chi_square, least, normal};

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
        assert_close(least([0.5, 0.01, 0.3], 3), 0.03);
    }

    #[test]
    fn what_cannot_be_is_impossible_and_not_an_error() {
        assert_eq!(chi_square(0.0, 255.0), 0.0);
        assert_eq!(chi_square(1e15, 65_535.0), 0.0);
        assert_eq!(normal(1e9), 0.0);
        assert_eq!(binomial(1 << 40, 1 << 40, 1e-4), 0.0);
    }
}
