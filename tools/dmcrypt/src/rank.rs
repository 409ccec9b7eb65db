//! Turns samples into figures, scores and a ranking; selects the variants to measure; and chooses among secure
//! specifications that are about as fast as the fastest one.
//!
//! Two specifications of the same rounds are compared round by round: how much slower one was than
//! the other, over all workloads. One is slower if two conditions hold. The interval that holds the
//! median in 95 of 100 cases lies above zero; otherwise the difference is noise. And the median is at
//! least a twentieth; nobody should give up a preference for less. With fewer than six rounds no
//! interval holds that much, so the difference must be a tenth. Whatever the rounds say, one whose score
//! is a tenth lower is slower: no reader should find it recommended above a better line of the table.

use squall_tool_base::measure::{Spread, interval_of_median};

use crate::choice::Wanted;
use crate::measure::WorkloadSamples;
use crate::model::{Figure, Latency, Measured, Options};
use crate::rules::{self, Verdict};
use crate::spec::MOST_KEY_BITS;

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
/// the same CPU, and without work queues.
pub fn variants(ranking: &[Measured]) -> Vec<Wanted> {
    let mut all = Vec::new();
    for sector_size in [512, 4096] {
        for (same_cpu, no_workqueues) in [(false, false), (true, false), (false, true)] {
            all.push(Options {
                sector_size,
                same_cpu,
                no_workqueues,
                ..Options::PLAIN
            });
        }
    }
    let best = best(ranking).into_iter();
    let with_all = |it| all.iter().map(move |options| Wanted::again(it, *options));
    best.flat_map(with_all).collect()
}

/// The choice, and the measurement that it was compared with.
#[derive(Clone, Copy, Debug)]
pub struct Preferred<'a> {
    pub chosen: &'a Measured,
    /// The one with the best score; it may be the chosen one.
    pub fastest: &'a Measured,
    /// How many secure ones there were.
    pub secure: usize,
}

/// What is preferred, the most important first: a number that is lower for it, and how it is put.
type Preference = (fn(&Measured) -> u32, &'static str);

#[rustfmt::skip]
pub const PREFERENCES: [Preference; 4] = [
    // Made for disks, and standardised (IEEE 1619, NIST SP 800-38E).
    (|it| u32::from(it.spec.mode != "xts"), "its mode is XTS, the standard for disks"),
    (|it| u32::from(it.spec.cipher != "aes"), "its cipher is AES"),
    (|it| MOST_KEY_BITS - rules::data_key_bits(&it.spec), "its key is longer"),
    (departures, "has simpler options"),
];

/// How many options differ from dm-crypt's defaults.
fn departures(measured: &Measured) -> u32 {
    let Options {
        sector_size,
        no_workqueues,
        same_cpu,
        ..
    } = measured.options;
    let departs = [sector_size != 512, no_workqueues, same_cpu];
    departs.map(u32::from).iter().sum()
}

/// Chooses among measurements of the same rounds; `None` if none of them is secure.
pub fn preferred<'a>(measured: &[&'a Measured]) -> Option<Preferred<'a>> {
    let is_secure = |measured: &&&Measured| measured.verdict == Verdict::Secure;
    let secure: Vec<&'a Measured> = measured.iter().filter(is_secure).copied().collect();
    let by_score = |one: &&&Measured, other: &&&Measured| one.score.total_cmp(&other.score);
    let fastest = *secure.iter().max_by(by_score)?;
    let level = secure
        .iter()
        .filter(|measured| is_as_fast_as(measured, fastest));
    let first = |one: &&&Measured, other: &&&Measured| {
        let preference = |it: &Measured| PREFERENCES.map(|(lower, _)| lower(it));
        let by_preference = preference(one).cmp(&preference(other));
        by_preference.then(other.score.total_cmp(&one.score))
    };
    Some(Preferred {
        chosen: level.min_by(first)?,
        fastest,
        secure: secure.len(),
    })
}

/// Whether no significant difference shows that `measured` is slower than `fastest`.
fn is_as_fast_as(measured: &Measured, fastest: &Measured) -> bool {
    const FEW: usize = 6;
    const LEAST: f64 = 0.9;
    if measured.score < LEAST * fastest.score {
        return false;
    }
    let lags = lags(measured, fastest);
    if lags.is_empty() {
        return true;
    }
    let worth = if lags.len() < FEW { 0.1 } else { 0.05 };
    let [low, _] = interval_of_median(lags.clone());
    low <= 0.0 || Spread::of(lags).median < worth
}

/// For each round, the logarithm of how many times faster `fastest` was: the mean over workloads.
fn lags(measured: &Measured, fastest: &Measured) -> Vec<f64> {
    let pairs = measured.figures.iter().zip(&fastest.figures);
    let pairs: Vec<_> = pairs
        .map(|(one, best)| (&one.samples, &best.samples))
        .collect();
    let rounds = pairs.iter().map(|(one, best)| one.len().min(best.len()));
    let lag = |round: usize| {
        let logs = pairs
            .iter()
            .map(|(one, best)| (best[round] / one[round]).ln());
        logs.sum::<f64>() / pairs.len() as f64
    };
    (0..rounds.min().unwrap_or(0)).map(lag).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::Sample;
    use crate::rules::Verdict;

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

    fn names<'a>(measured: impl IntoIterator<Item = &'a Measured>) -> Vec<String> {
        let all = measured.into_iter();
        all.map(|measured| measured.spec.to_string()).collect()
    }

    #[test]
    fn three_ciphers_are_tried_with_all_options() {
        let mut ranking = [
            ("aes-xts-plain64 256", 0.80),
            ("aes-xts-plain64 512", 0.70),
            ("aes-cbc-essiv:sha256 256", 0.60),
            ("twofish-ctr-plain64 256", 0.55),
            ("camellia-cbc-essiv:sha256 128", 0.50),
            ("camellia-xts-plain64 512", 0.50),
            ("xchacha12,aes-adiantum-plain64 256", 0.40),
            ("serpent-xts-plain64 512", 0.30),
        ]
        .map(|(text, part)| measured(text, &[part; 30]));
        ranking[3].verdict = Verdict::Insecure;
        let expected = [
            "aes-xts-plain64 256",
            "camellia-xts-plain64 512",
            "xchacha12,aes-adiantum-plain64 256",
        ];
        assert_eq!(names(best(&ranking)), expected);
        let variants = variants(&ranking);
        assert_eq!(variants.len(), 3 * 6);
        let queues = [
            "work queues",
            "work queues on the same CPU",
            "no work queues",
        ];
        let expected = [512, 4096]
            .into_iter()
            .flat_map(|bytes| queues.map(|queues| format!("sectors of {bytes} bytes, {queues}")));
        let options = variants[6..12]
            .iter()
            .map(|variant| variant.options.described());
        assert!(options.eq(expected));
        assert_eq!(variants[6].spec, ranking[5].spec);
    }

    /// The names of the chosen one and of the fastest.
    fn chosen(all: &[Measured]) -> [String; 2] {
        let all: Vec<&Measured> = all.iter().collect();
        let found = preferred(&all).expect("one is secure");
        [found.chosen, found.fastest].map(|measured| measured.spec.to_string())
    }

    /// Rates of `rounds` rounds that vary by a twentieth.
    fn noisy(rate: f64, rounds: usize) -> Vec<f64> {
        let vary = |round: usize| 1.0 + 0.05 * ((round * 7 % 5) as f64 / 2.0 - 1.0);
        (0..rounds).map(|round| rate * vary(round)).collect()
    }

    /// The fastest is chosen if it is faster in all rounds, or if its score is much higher; not if the rounds disagree
    /// about which is faster.
    #[test]
    fn noise_does_not_override_preferences() {
        let [aes, adiantum, camellia] = [
            "aes-xts-plain64 512",
            "xchacha12,aes-adiantum-plain64 256",
            "camellia-xts-plain64 512",
        ];
        let clear = [
            measured(aes, &noisy(0.6, 30)),
            measured(adiantum, &noisy(0.66, 30)),
        ];
        assert_eq!(chosen(&clear)[0], adiantum);

        let mut turned = noisy(0.605, 30);
        turned.rotate_left(1);
        let level = [
            measured(camellia, &noisy(0.6, 30)),
            measured(adiantum, &turned),
            measured("aes-cbc-essiv:sha256 256", &noisy(0.6, 30)),
        ];
        assert_eq!(chosen(&level), [camellia, adiantum]);

        let mut wild = vec![0.3, 0.9, 0.2, 0.8, 0.3];
        let low = measured(aes, &wild);
        wild.rotate_left(1);
        wild.iter_mut().for_each(|ratio| *ratio *= 1.2);
        assert_eq!(chosen(&[low, measured(camellia, &wild)])[0], camellia);
    }

    /// All are equally fast: each is chosen once those before it are removed.
    #[test]
    fn preferences_have_their_order() {
        let order = [
            ("aes-xts-plain64 512", false),
            ("aes-xts-plain64 512", true),
            ("aes-xts-plain64 256", false),
            ("camellia-xts-plain64 512", false),
            ("aes-cbc-essiv:sha256 256", false),
            ("aes-cbc-essiv:sha256 128", false),
            ("serpent-cbc-essiv:sha256 256", false),
        ];
        let measured = |(text, no_workqueues): (&str, bool)| {
            let mut measured = measured(text, &[0.5; 8]);
            measured.options.no_workqueues = no_workqueues;
            measured
        };
        let mut left: Vec<Measured> = order.into_iter().map(measured).collect();
        left.reverse();
        for (text, no_workqueues) in order {
            let all: Vec<&Measured> = left.iter().collect();
            let chosen = preferred(&all).expect("one is secure").chosen;
            let found = (chosen.spec.to_string(), chosen.options.no_workqueues);
            assert_eq!(found, (text.to_owned(), no_workqueues));
            left.pop();
        }
    }

    /// With three rounds 0.8 of the speed counts as slower, but 0.92 does not. With six or more rounds
    /// 0.92 does.
    #[test]
    fn few_rounds_need_a_larger_difference() {
        for (part, rounds, expected) in [
            (0.8, 3, false),
            (0.92, 3, true),
            (0.92, 5, true),
            (0.92, 6, false),
            (0.92, 30, false),
        ] {
            let fast = measured("aes-cbc-essiv:sha256 256", &vec![1.0; rounds]);
            let slow = measured("aes-xts-plain64 512", &vec![part; rounds]);
            assert_eq!(is_as_fast_as(&slow, &fast), expected, "{part}, {rounds}");
        }
    }
}
