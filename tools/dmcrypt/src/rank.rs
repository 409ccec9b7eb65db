//! Turns samples into figures, scores and a ranking, and selects the variants to measure.

use squall_tools::measure::Spread;

use crate::model::{Figure, Measured, Options};
use crate::prefer::preferred;

/// How many ciphers are measured with other options.
const BEST: usize = 3;

/// The figures of a device, one for each workload, from its samples and the raw device's samples of
/// the same rounds. There is at least one round.
pub fn figures(samples: &[Vec<f64>], raw: &[Vec<f64>]) -> Vec<Figure> {
    let figure = |(samples, raw): (&Vec<f64>, &Vec<f64>)| {
        let ratios = samples.iter().zip(raw).map(|(sample, raw)| sample / raw);
        Figure {
            rate: Spread::of(samples.clone()),
            ratio: Spread::of(ratios.collect()),
            samples: samples.clone(),
        }
    };
    samples.iter().zip(raw).map(figure).collect()
}

/// The geometric mean of the median ratios to the raw device. A device that is half as fast in one
/// workload and twice as fast in another scores the same as one that is equal in both.
pub fn score(figures: &[Figure]) -> f64 {
    let logs = figures.iter().map(|figure| figure.ratio.median.ln());
    (logs.sum::<f64>() / figures.len() as f64).exp()
}

/// Sorts by score, best first; equal scores by name.
pub fn sort(measured: &mut [Measured]) {
    measured.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| one.spec.cmp(&other.spec))
    });
}

/// The specifications to measure with other options: the best three secure ones with different
/// ciphers, because options have the same effect on all modes and key lengths of a cipher. Of each
/// cipher it takes the one that would be recommended, so the final recommendation is among them.
pub fn best(ranking: &[Measured]) -> Vec<&Measured> {
    let mut left: Vec<&Measured> = ranking.iter().collect();
    let mut best = Vec::new();
    while best.len() < BEST {
        let Some(found) = preferred(&left) else { break };
        left.retain(|measured| measured.spec.cipher != found.chosen.spec.cipher);
        best.push(found.chosen);
    }
    best
}

/// The best few with all options: sectors of 512 and 4096 bytes, each with work queues and without.
pub fn variants(ranking: &[Measured]) -> Vec<(&Measured, Options)> {
    let all = [(512, false), (512, true), (4096, false), (4096, true)];
    let with_all = |measured| {
        all.map(|(sector_size, no_workqueues)| {
            let options = Options {
                sector_size,
                no_workqueues,
            };
            (measured, options)
        })
    };
    best(ranking).into_iter().flat_map(with_all).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::verdict::Verdict;

    /// A secure specification with the same ratios to the raw device in each workload, one for each
    /// round.
    pub(crate) fn measured(text: &str, ratios: &[f64]) -> Measured {
        let samples: Vec<f64> = ratios.iter().map(|ratio| ratio * 2e9).collect();
        let raw = vec![vec![2e9; ratios.len()]; 8];
        let figures = figures(&vec![samples; 8], &raw);
        Measured {
            spec: text.parse().expect("a specification"),
            options: Options::PLAIN,
            verdict: Verdict::Secure,
            stands_for: Vec::new(),
            score: score(&figures),
            figures,
        }
    }

    /// Both devices were twice as fast in the second round: the ratio does not show what the machine
    /// did.
    #[test]
    fn ratios_compare_samples_of_one_round() {
        let figures = figures(&[vec![10.0, 20.0, 10.0]], &[vec![20.0, 40.0, 40.0]]);
        assert_eq!(figures[0].ratio.median, 0.5);
        assert_eq!(figures[0].ratio.low, 0.5);
        assert_eq!(figures[0].rate.median, 10.0);
        assert_eq!(figures[0].samples, [10.0, 20.0, 10.0]);
    }

    #[test]
    fn the_score_is_a_geometric_mean_of_medians() {
        let samples = [vec![1.0, 9.0, 2.0], vec![8.0, 8.0, 8.0]];
        let raw = [vec![4.0, 4.0, 4.0], vec![4.0, 4.0, 4.0]];
        let score = score(&figures(&samples, &raw));
        assert!((score - 1.0).abs() < 1e-12, "{score}: a half and twice");
    }

    #[test]
    fn the_ranking_begins_with_the_best() {
        let mut all = [0.3, 0.9, 0.5].map(|part| measured("aes-xts-plain64 512", &[part]));
        sort(&mut all);
        let scores = all.map(|measured| (measured.score * 10.0).round());
        assert_eq!(scores, [9.0, 5.0, 3.0]);
    }

    #[test]
    fn three_ciphers_are_tried_with_all_options() {
        let of = |text: &str, part: f64| measured(text, &[part; 30]);
        let mut ranking = [
            of("aes-xts-plain64 256", 0.80),
            of("aes-xts-plain64 512", 0.70),
            of("aes-cbc-essiv:sha256 256", 0.60),
            of("twofish-ctr-plain64 256", 0.55),
            of("camellia-cbc-essiv:sha256 128", 0.50),
            of("camellia-xts-plain64 512", 0.50),
            of("xchacha12,aes-adiantum-plain64 256", 0.40),
            of("serpent-xts-plain64 512", 0.30),
        ];
        ranking[3].verdict = Verdict::Insecure;
        let names: Vec<String> = best(&ranking)
            .into_iter()
            .map(|measured| measured.spec.to_string())
            .collect();
        assert_eq!(
            names,
            [
                "aes-xts-plain64 256",
                "camellia-xts-plain64 512",
                "xchacha12,aes-adiantum-plain64 256",
            ]
        );
        let variants = variants(&ranking);
        assert_eq!(variants.len(), 12);
        let options: Vec<(u32, bool)> = variants[4..8]
            .iter()
            .map(|(_, options)| (options.sector_size, options.no_workqueues))
            .collect();
        assert_eq!(
            options,
            [(512, false), (512, true), (4096, false), (4096, true)]
        );
        assert_eq!(variants[4].0.spec, ranking[5].spec);
    }
}
