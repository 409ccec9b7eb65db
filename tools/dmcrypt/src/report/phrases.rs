//! Phrases that several reports share.

use std::collections::BTreeSet;

use squall_tools::measure::Spread;
use squall_tools::units;

use crate::model::{
    BackingKind, Bench, Direction, Figure, Latency, Measured, Options, Recommendation,
};
use crate::rules;
use crate::verdict::Verdict;

/// The warning about an emulated machine.
pub const EMULATED: &str = "This machine is emulated: its speeds and their order mean nothing.";

/// The warning about an interrupted run.
pub const INCOMPLETE: &str =
    "The run was interrupted: rounds, specifications or variants are missing.";

/// The text of a report without a recommendation.
pub const NO_RECOMMENDATION: &str =
    "No recommendation: no secure combination without authentication was measured.";

/// The percentage from which on tenths are not shown.
const WHOLE: f64 = 9.95;

/// The encrypted device: `the RAM disk /dev/ram0`.
pub fn backing(bench: &Bench) -> String {
    let kind = match bench.backing.kind {
        BackingKind::Ram => "the RAM disk",
        BackingKind::Device => "the device",
    };
    format!("{kind} {}", bench.backing.name)
}

/// Rounds and sample length: `30 rounds, 500 ms a sample`.
pub fn rounds(bench: &Bench) -> String {
    let Bench {
        rounds, sample_ms, ..
    } = bench;
    let s = if *rounds == 1 { "" } else { "s" };
    format!("{rounds} round{s}, {sample_ms} ms a sample")
}

/// The options of a table: `sectors of 4096 bytes, no work queues`.
pub fn options(options: &Options) -> String {
    let queues = match options {
        _ if options.same_cpu => "work queues on the same CPU",
        _ if options.high_priority => "work queues of high priority",
        _ => queues(options),
    };
    format!("sectors of {} bytes, {queues}", options.sector_size)
}

/// The same for a column: `4096 B sectors, no work queues`.
pub fn short_options(options: &Options) -> String {
    format!("{} B sectors, {}", options.sector_size, queues(options))
}

fn queues(options: &Options) -> &'static str {
    match options {
        _ if options.no_workqueues => "no work queues",
        _ if options.same_cpu => "same CPU",
        _ if options.high_priority => "high priority",
        _ => "work queues",
    }
}

/// Whether there is dm-integrity below, and its journal.
pub fn journal(options: &Options) -> &'static str {
    match options.journal {
        None => "not authenticated",
        Some(true) => "with a journal",
        Some(false) => "without a journal",
    }
}

/// What the figures of authenticated specifications mean, a sentence each.
pub const AUTHENTICATED: [&str; 4] = [
    "Each has a part of the device for itself, because dm-integrity formats what is below it. The \
     device without encryption, and the best without authentication, have such a part too and were \
     measured in the same rounds.",
    "With a journal dm-integrity writes everything twice, so that a crash leaves a sector with its tag \
     or neither. Without it, a sector that was being written during a crash cannot be read again. Its \
     journal has a 128th of a part here, and 64 MiB on a drive of 8 GiB or more.",
    "What was changed on the disk gives an error instead of garbage. Anyone who \
     can write to the disk can still put back an old sector and its tag.",
    "cryptsetup calls authenticated encryption experimental, so squall recommends none. The words of a \
     specification are its options --cipher, --key-size and --integrity.",
];

/// Why those of `measured` that are not secure are not, a sentence each.
pub fn reasons(measured: &[Measured]) -> Vec<String> {
    let doubted = measured.iter().filter(|it| it.verdict != Verdict::Secure);
    let mut sentences = Vec::new();
    for measured in doubted {
        let spec = &measured.spec;
        let reasons = rules::judge(spec).1.into_iter();
        sentences.extend(reasons.map(|it| format!("{spec}: {} ({}).", it.reason, it.source)));
    }
    sentences.dedup();
    sentences
}

/// What the figures for flags mean.
pub const PRIORITY: &str = "High priority is never recommended: it makes the rest of the system less \
    responsive, and cryptsetup can set it since 2.8.";

/// What the figures of a table of costs are.
pub const COSTS: &str = "What that costs: seconds of CPU time of the whole machine for each GB; below \
    them the latency of a transfer in microseconds, p50 and p99.";

/// CPU time for each GB: `0.31`; a dash if there is too little to tell.
pub fn cpu(figure: &Figure) -> String {
    figure.cpu_seconds_per_gb.map_or("–".into(), units::number)
}

/// The latency in microseconds, p50 and p99: `3.21 12.4`.
pub fn latency(latency: &Latency) -> String {
    let [p50, p99] = [latency.p50_ns, latency.p99_ns].map(|ns| units::number(ns / 1e3));
    format!("{p50} {p99}")
}

/// A verdict in words.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Secure => "secure",
        Verdict::Compatible => "for compatibility only",
        Verdict::Insecure => "insecure",
    }
}

/// A direction in words.
pub fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}

/// The order of offsets.
pub fn order(is_random: bool) -> &'static str {
    if is_random { "random" } else { "sequential" }
}

/// A part of the whole in percent, without the sign: `82`, `8.2`.
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent.abs() < WHOLE {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

/// A ratio in percent with half the distance of its quartiles: `82 ±1.3`.
pub fn ratio(ratio: &Spread) -> String {
    let half = (ratio.high - ratio.low) / 2.0;
    format!("{} ±{}", percent(ratio.median), percent(half))
}

/// Which specifications share these figures, a sentence without its full stop; `None` if none do.
pub fn stands_for(measured: &Measured) -> Option<String> {
    let Measured {
        spec, stands_for, ..
    } = measured;
    let others = stands_for.iter();
    let digests: BTreeSet<String> = others
        .clone()
        .filter(|other| other.iv != spec.iv)
        .map(|other| other.iv.to_string())
        .collect();
    let lengths: BTreeSet<u32> = others
        .filter(|other| other.key_bits != spec.key_bits)
        .map(|other| other.key_bits)
        .collect();
    let mut parts = Vec::new();
    if !digests.is_empty() {
        let names = Vec::from_iter(digests).join(", ");
        parts.push(format!(
            "with {names}, whose digest is used only when a table is loaded"
        ));
    }
    if !lengths.is_empty() {
        let bits: Vec<String> = lengths.iter().map(u32::to_string).collect();
        parts.push(format!("with keys of {} bits", bits.join(", ")));
    }
    (!parts.is_empty()).then(|| format!("{spec} stands for others {}", parts.join(", and ")))
}

/// The lines of a recommendation, each with its purpose.
pub fn to_copy(recommendation: &Recommendation) -> [(&'static str, &str); 4] {
    let Recommendation {
        swap,
        luks_format,
        luks_open,
        luks_crypttab,
        ..
    } = recommendation;
    [
        ("Swap under a new key at each boot, in /etc/crypttab", swap),
        ("Create a LUKS2 volume", luks_format),
        ("Open it for the first time", luks_open),
        ("Open it at boot, in /etc/crypttab", luks_crypttab),
    ]
}
