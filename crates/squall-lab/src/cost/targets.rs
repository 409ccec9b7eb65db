//! What squall set out to reach, and whether this run reached it.

use serde::Serialize;

use super::figures::Row;
use super::fork::Forks;
use super::generators::Generator;
use super::operations::Operations;

/// Which side of its limit a figure is to be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtMost,
    Under,
    Above,
}

/// A target with what was measured.
#[derive(Debug, Serialize)]
pub struct Target {
    pub target: &'static str,
    #[serde(skip)]
    pub text: &'static str,
    pub bound: Bound,
    pub limit: f64,
    pub measured: f64,
    pub unit: &'static str,
    pub met: bool,
}

impl Target {
    fn new(
        target: &'static str,
        text: &'static str,
        bound: Bound,
        limit: f64,
        measured: f64,
        unit: &'static str,
    ) -> Target {
        let met = match bound {
            Bound::AtMost => measured <= limit,
            Bound::Under => measured < limit,
            Bound::Above => measured > limit,
        };
        Target {
            target,
            text,
            bound,
            limit,
            measured,
            unit,
            met,
        }
    }
}

type OfField = (&'static str, &'static str, Generator);

/// The robust PRNG's time for a refresh, for each field.
const TIMES: [OfField; 3] = [
    (
        "robust_489_refresh",
        "robust refresh, n = 489, median",
        Generator::Robust489,
    ),
    (
        "robust_579_refresh",
        "robust refresh, n = 579, median",
        Generator::Robust579,
    ),
    (
        "robust_705_refresh",
        "robust refresh, n = 705, median",
        Generator::Robust705,
    ),
];

/// Its speed beside the old RNG's mixing of the same 16 bytes.
const SPEEDUPS: [OfField; 3] = [
    (
        "robust_489_refresh_speedup",
        "robust refresh, n = 489, beside the old RNG's mixing",
        Generator::Robust489,
    ),
    (
        "robust_579_refresh_speedup",
        "robust refresh, n = 579, beside the old RNG's mixing",
        Generator::Robust579,
    ),
    (
        "robust_705_refresh_speedup",
        "robust refresh, n = 705, beside the old RNG's mixing",
        Generator::Robust705,
    ),
];

/// The targets. Whirlwind is judged with SHA-512, its default.
pub fn of(operations: &Operations, fork: &Forks) -> Vec<Target> {
    let mut targets = of_whirlwind(operations);
    targets.extend(of_robust(&operations.absorb_16_bytes));
    targets.push(Target::new(
        "fork_overhead",
        "fork in a process that has drawn: overhead, median",
        Bound::Under,
        1.0,
        fork.overhead_percent.median,
        "%",
    ));
    targets
}

fn of_whirlwind(operations: &Operations) -> Vec<Target> {
    let ours = Generator::WhirlwindSha512;
    let add_input = &operations.add_input_without_compression.generators[&ours];
    let bootstrap = &operations.bootstrap.generators[&ours];
    let generate = &operations.generate_64_bytes;
    vec![
        Target::new(
            "whirlwind_add_input",
            "Whirlwind's add-input without compression, median",
            Bound::AtMost,
            0.1,
            add_input.median / 1e3,
            "µs",
        ),
        Target::new(
            "whirlwind_generate_64_bytes_speedup",
            "Whirlwind's generate, 64 bytes, beside the old RNG's",
            Bound::Above,
            1.0,
            generate.ratio(Generator::Legacy, ours),
            "×",
        ),
        Target::new(
            "whirlwind_bootstrap",
            "Whirlwind's bootstrap, mean",
            Bound::AtMost,
            0.7,
            bootstrap.mean / 1e6,
            "ms",
        ),
    ]
}

fn of_robust(absorb: &Row) -> impl Iterator<Item = Target> {
    let time = |(target, text, field)| {
        let median = absorb.generators[&field].median;
        Target::new(target, text, Bound::Under, 100.0, median, "ns")
    };
    let speedup = |(target, text, field)| {
        let speedup = absorb.ratio(Generator::Legacy, field);
        Target::new(target, text, Bound::Above, 1.0, speedup, "×")
    };
    TIMES
        .into_iter()
        .map(time)
        .chain(SPEEDUPS.into_iter().map(speedup))
}
