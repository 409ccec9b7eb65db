//! squall's targets for cost, and whether this run met them.

use serde::Serialize;

use super::fork::Forks;
use super::generators::Generator::{Legacy, Robust489, Robust579, Robust705, WhirlwindSha512};
use super::operations::Operations;
use Bound::{Above, AtMost, Under};

/// Whether a figure must be below or above its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtMost,
    Under,
    Above,
}

/// A target and its measured figure.
#[derive(Debug, Serialize)]
pub struct Verdict {
    pub target: &'static str,
    #[serde(skip)]
    pub text: &'static str,
    pub bound: Bound,
    pub limit: f64,
    pub measured: f64,
    pub unit: &'static str,
    pub met: bool,
}

type Measured<'a> = (&'a Operations, &'a Forks);

/// A target: its name, its text, the bound, the limit, the unit, and a function that finds the figure.
type Target = (
    &'static str,
    &'static str,
    Bound,
    f64,
    &'static str,
    fn(Measured) -> f64,
);

/// The targets. Whirlwind is judged with SHA-512, its default. The robust PRNG is judged by inputs of
/// its field's size, as it is defined, and by inputs of an event's 16 bytes.
#[rustfmt::skip]
const TARGETS: [Target; 13] = [
    ("whirlwind_add_input", "Whirlwind's add-input, median",
        AtMost, 0.1, "µs",
        |(row, _)| row.add_input.generators[&WhirlwindSha512].median / 1e3),
    ("whirlwind_generate_64_bytes_speedup", "Whirlwind's generate, 64 bytes, beside the old RNG's",
        Above, 1.0, "×", |(row, _)| row.generate_64_bytes.ratio(Legacy, WhirlwindSha512)),
    ("whirlwind_bootstrap", "Whirlwind's bootstrap, mean",
        AtMost, 0.7, "ms", |(row, _)| row.bootstrap.generators[&WhirlwindSha512].mean / 1e6),
    ("robust_489_refresh", "robust refresh, n = 489, 61 bytes, median",
        Under, 100.0, "ns", |(row, _)| row.absorb_61_bytes.generators[&Robust489].median),
    ("robust_579_refresh", "robust refresh, n = 579, 72 bytes, median",
        Under, 100.0, "ns", |(row, _)| row.absorb_72_bytes.generators[&Robust579].median),
    ("robust_705_refresh", "robust refresh, n = 705, 88 bytes, median",
        Under, 100.0, "ns", |(row, _)| row.absorb_88_bytes.generators[&Robust705].median),
    ("robust_489_refresh_speedup", "robust refresh, n = 489, 61 bytes, beside the old mixing",
        Above, 1.0, "×", |(row, _)| row.absorb_61_bytes.ratio(Legacy, Robust489)),
    ("robust_579_refresh_speedup", "robust refresh, n = 579, 72 bytes, beside the old mixing",
        Above, 1.0, "×", |(row, _)| row.absorb_72_bytes.ratio(Legacy, Robust579)),
    ("robust_705_refresh_speedup", "robust refresh, n = 705, 88 bytes, beside the old mixing",
        Above, 1.0, "×", |(row, _)| row.absorb_88_bytes.ratio(Legacy, Robust705)),
    ("robust_489_16_bytes_speedup", "robust refresh, n = 489, 16 bytes, beside the old mixing",
        Above, 1.0, "×", |(row, _)| row.absorb_16_bytes.ratio(Legacy, Robust489)),
    ("robust_579_16_bytes_speedup", "robust refresh, n = 579, 16 bytes, beside the old mixing",
        Above, 1.0, "×", |(row, _)| row.absorb_16_bytes.ratio(Legacy, Robust579)),
    ("robust_705_16_bytes_speedup", "robust refresh, n = 705, 16 bytes, beside the old mixing",
        Above, 1.0, "×", |(row, _)| row.absorb_16_bytes.ratio(Legacy, Robust705)),
    ("fork_overhead", "fork in a process that has drawn: overhead, median",
        Under, 1.0, "%", |(_, fork)| fork.overhead_percent.median),
];

/// Compares each target with the measured figure.
pub fn verdicts(operations: &Operations, fork: &Forks) -> Vec<Verdict> {
    let judge = |(target, text, bound, limit, unit, find): Target| {
        let measured = find((operations, fork));
        Verdict {
            target,
            text,
            bound,
            limit,
            measured,
            unit,
            met: bound.holds(measured, limit),
        }
    };
    TARGETS.into_iter().map(judge).collect()
}

impl Bound {
    fn holds(self, measured: f64, limit: f64) -> bool {
        match self {
            AtMost => measured <= limit,
            Under => measured < limit,
            Above => measured > limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Row, Samples};
    use super::super::generators::Generator;
    use super::super::paper;
    use super::*;

    fn row<const N: usize>(samples: [(Generator, [f64; 3]); N]) -> Row {
        let samples = samples.map(|(generator, samples)| (generator, samples.to_vec()));
        Row::new(Samples::from(samples), "ns", paper::NOT_PUBLISHED)
    }

    fn wide(field: Generator, time: f64, legacy: f64) -> Row {
        row([(field, [time; 3]), (Legacy, [legacy; 3])])
    }

    fn operations() -> Operations {
        Operations {
            add_input: row([(WhirlwindSha512, [10.0, 20.0, 600.0])]),
            interrupt: row([]),
            absorb_16_bytes: row([
                (Robust489, [20.0; 3]),
                (Robust579, [40.0; 3]),
                (Robust705, [80.0; 3]),
                (Legacy, [40.0; 3]),
            ]),
            absorb_61_bytes: wide(Robust489, 21.0, 105.0),
            absorb_72_bytes: wide(Robust579, 100.0, 600.0),
            absorb_88_bytes: wide(Robust705, 200.0, 100.0),
            generate_4_bytes: row([]),
            generate_16_bytes: row([]),
            generate_64_bytes: row([(WhirlwindSha512, [500.0; 3]), (Legacy, [1500.0; 3])]),
            bootstrap: row([(WhirlwindSha512, [1e5, 2e5, 18e5])]),
        }
    }

    /// Every target's figure and verdict, computed by hand.
    #[test]
    fn verdicts_on_synthetic_figures() {
        // Forks that take 2 % longer with squall.
        let fork = Forks::of([
            vec![100.0, 200.0, 300.0],
            vec![100.0, 200.0, 300.0],
            vec![102.0, 204.0, 306.0],
            vec![150.0, 250.0, 350.0],
        ]);
        let verdicts = verdicts(&operations(), &fork);
        let expected = [
            (0.02, true),
            (3.0, true),
            (0.7, true),
            (21.0, true),
            (100.0, false),
            (200.0, false),
            (5.0, true),
            (6.0, true),
            (0.5, false),
            (2.0, true),
            (1.0, false),
            (0.5, false),
            (2.0, false),
        ];
        assert_eq!(verdicts.len(), expected.len());
        for (verdict, (measured, met)) in verdicts.iter().zip(expected) {
            let name = verdict.target;
            assert!((verdict.measured - measured).abs() < 1e-9, "{verdict:?}");
            assert_eq!(verdict.met, met, "{name}");
        }
    }

    #[test]
    fn bounds() {
        let holds = |bound: Bound| [0.9, 1.0, 1.1].map(|measured| bound.holds(measured, 1.0));
        assert_eq!(holds(AtMost), [true, true, false]);
        assert_eq!(holds(Under), [true, false, false]);
        assert_eq!(holds(Above), [false, false, true]);
    }
}
