//! Turns samples into figures, scores and a ranking, and selects the variants to measure.

use squall_tools::measure::Spread;

use crate::measure::WorkloadSamples;
use crate::model::{Figure, Latency, Measured, Options};
use crate::prefer::preferred;

/// How many ciphers are measured with other options.
const BEST: usize = 3;

/// The figures of a device, one for each workload, from its samples and the raw device's samples of
/// the same rounds. There is at least one round.
pub fn figures(own: &[WorkloadSamples], raw: &[WorkloadSamples]) -> Vec<Figure> {
    let figure = |(own, raw): (&WorkloadSamples, &WorkloadSamples)| {
        let ratios = own.rates().zip(raw.rates()).map(|(own, raw)| own / raw);
        Figure {
            rate: Spread::of(own.rates().collect()),
            ratio: Spread::of(ratios.collect()),
            samples: own.rates().collect(),
            cpu_seconds_per_gb: own.cpu_seconds_per_gb(),
            latency: Latency {
                p50_ns: own.latencies.quantile(0.5),
                p99_ns: own.latencies.quantile(0.99),
            },
        }
    };
    own.iter().zip(raw).map(figure).collect()
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

/// The best few with all options: sectors of 512 and 4096 bytes, each with work queues as usual, on
/// the same CPU, with a high priority if the kernel `has_priority`, and without work queues.
pub fn variants(ranking: &[Measured], has_priority: bool) -> Vec<(&Measured, Options)> {
    let plain = Options::PLAIN;
    let queues = [
        Some(plain),
        Some(Options {
            same_cpu: true,
            ..plain
        }),
        has_priority.then_some(Options {
            high_priority: true,
            ..plain
        }),
        Some(Options {
            no_workqueues: true,
            ..plain
        }),
    ];
    let all = [512, 4096].into_iter().flat_map(|sector_size| {
        let of_size = move |options| Options {
            sector_size,
            ..options
        };
        queues.into_iter().flatten().map(of_size)
    });
    let all: Vec<Options> = all.collect();
    let best = best(ranking).into_iter();
    best.flat_map(|measured| all.iter().map(move |options| (measured, *options)))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::Sample;
    use crate::verdict::Verdict;

    /// Samples with these rates.
    fn samples(rates: impl IntoIterator<Item = f64>) -> WorkloadSamples {
        let sample = |rate| Sample {
            rate,
            bytes: 4096,
            cpu: None,
        };
        WorkloadSamples {
            samples: rates.into_iter().map(sample).collect(),
            ..WorkloadSamples::default()
        }
    }

    /// A secure specification with the same ratios to the raw device in each workload, one for each
    /// round.
    pub(crate) fn measured(text: &str, ratios: &[f64]) -> Measured {
        let own = samples(ratios.iter().map(|ratio| ratio * 2e9));
        let raw = samples(ratios.iter().map(|_| 2e9));
        let figures = figures(&vec![own; 8], &vec![raw; 8]);
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
        let figures = figures(
            &[samples([10.0, 20.0, 10.0])],
            &[samples([20.0, 40.0, 40.0])],
        );
        assert_eq!(figures[0].ratio.median, 0.5);
        assert_eq!(figures[0].ratio.low, 0.5);
        assert_eq!(figures[0].rate.median, 10.0);
        assert_eq!(figures[0].samples, [10.0, 20.0, 10.0]);
    }

    #[test]
    fn the_score_is_a_geometric_mean_of_medians() {
        let own = [samples([1.0, 9.0, 2.0]), samples([8.0, 8.0, 8.0])];
        let raw = [samples([4.0; 3]), samples([4.0; 3])];
        let score = score(&figures(&own, &raw));
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
        let variants = variants(&ranking, true);
        assert_eq!(variants.len(), 3 * 8);
        assert_eq!(super::variants(&ranking, false).len(), 3 * 6);
        let options: Vec<_> = variants[8..16]
            .iter()
            .map(|(_, options)| options.described())
            .collect();
        let queues = [
            "work queues",
            "work queues on the same CPU",
            "work queues of high priority",
            "no work queues",
        ];
        let expected = [512, 4096]
            .into_iter()
            .flat_map(|bytes| queues.map(|queues| format!("sectors of {bytes} bytes, {queues}")));
        assert_eq!(options, expected.collect::<Vec<_>>());
        assert_eq!(variants[8].0.spec, ranking[5].spec);
    }
}
