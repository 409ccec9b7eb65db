//! The measurement for people: which tables and sentences it has, and which plots.

use std::collections::BTreeSet;

use squall_tool_base::measure::Spread;
use squall_tool_base::report::plots::{Bars, Figure as Plots, MOST_NAMES, Plot};
use squall_tool_base::report::{Cell, Column, Document, Kind, Part, Section, Table};
use squall_tool_base::units;

use super::{date, percent, rule, rules_table, warnings};
use crate::model::{
    Backing, BackingKind, Bench, CpuAndKernel, Figure, LeftOut, Measured, Options, Workload,
};
use crate::rules;
use crate::rules::Verdict;

const EMULATED: &str =
    "This machine is emulated, or user-mode Linux: its speeds and their order mean nothing.";

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

pub fn document(bench: &Bench) -> Document {
    let machine = &bench.machine;
    let incomplete = "The run was interrupted: rounds, specifications or variants are missing.";
    let mut parts = vec![machine_section(bench), plots(bench), raw(bench)];
    parts.extend(ranking(bench));
    parts.extend(variants(bench));
    parts.extend(authenticated(bench));
    parts.extend(left_out(&bench.left_out));
    if !bench.failures.is_empty() {
        let failures = bench.failures.iter();
        let failures = failures.map(|failed| format!("{}: {}", failed.name, failed.reason));
        let (heading, failures) = ("What could not be measured", Part::items(failures));
        parts.push(Section::part("failures", heading, vec![failures]));
    }
    parts.push(Part::OnPage(vec![method(bench)]));
    let CpuAndKernel { cpu, kernel, .. } = machine;
    Document {
        title: format!("Disk encryption on {cpu}"),
        command: "squall dmcrypt bench",
        heading: "Disk encryption on this machine",
        machine: format!("{cpu}, Linux {kernel}, {}", backing(bench)),
        date: date(&bench.at),
        warnings: warnings(machine, EMULATED, bench.is_complete, incomplete),
        advice: vec![recommendation(bench)],
        parts,
        footer: format!("squall {}, report {}", machine.squall, bench.format),
    }
}

/// The encrypted device: `the RAM disk /dev/ram0`.
fn backing(bench: &Bench) -> String {
    let kind = match bench.backing.kind {
        BackingKind::Ram => "the RAM disk",
        BackingKind::Device => "the device",
    };
    format!("{kind} {}", bench.backing.name)
}

fn machine_section(bench: &Bench) -> Part {
    let Bench {
        machine,
        backing: Backing { bytes, sector, .. },
        rounds,
        sample_ms,
        ..
    } = bench;
    let emulated = if machine.is_emulated {
        ", emulated or user-mode Linux"
    } else {
        ""
    };
    let s = if *rounds == 1 { "" } else { "s" };
    let used = units::length(*bytes);
    let facts = [
        ("CPU", format!("{}{emulated}", machine.cpu)),
        ("Kernel", format!("Linux {}", machine.kernel)),
        ("Encrypted", backing(bench)),
        ("Used", format!("{used}, sectors of {sector} bytes")),
        (
            "Rounds",
            format!("{rounds} round{s}, {sample_ms} ms a sample"),
        ),
        ("squall", machine.squall.clone()),
    ];
    let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
    Section::part("machine", "The machine", vec![Part::Facts(facts.into())])
}

fn recommendation(bench: &Bench) -> Part {
    let Some(found) = &bench.recommendation else {
        let none = "No recommendation: no secure combination without authentication was measured.";
        let none = vec![Part::Note(none.into())];
        return Section::part("recommendation", "Recommendation", none);
    };
    let options = found.options.described();
    let advice = format!("{}, {options}. {}", found.spec, found.why);
    let mut parts = vec![Part::Advice(advice)];
    if bench.machine.is_emulated {
        parts.push(Part::Warning("Emulated", EMULATED.into()));
    }
    let swap = "Swap under a new key at each boot, in /etc/crypttab";
    let to_copy = [
        (swap, &found.swap),
        ("Create a LUKS2 volume", &found.luks_format),
        ("Open it for the first time", &found.luks_open),
        ("Open it at boot, in /etc/crypttab", &found.luks_crypttab),
    ];
    parts.extend(to_copy.map(|(what, line)| Part::Copy(what.into(), line.clone())));
    parts.push(Part::items(found.notes.clone()));
    Section::part("recommendation", "Recommendation", parts)
}

fn raw(bench: &Bench) -> Part {
    let row = |(workload, figure): (&Workload, &Figure)| {
        let Spread { low, median, high } = figure.rate;
        let quartiles = format!("{} to {}", units::rate(low), units::rate(high));
        [workload.title.clone(), units::rate(median), quartiles]
            .map(Cell::new)
            .into()
    };
    let rows = bench.workloads.iter().zip(&bench.raw).map(row).collect();
    let heading = "The device without encryption";
    let table = Table {
        columns: vec![
            Column::new("Transfers", Kind::Name),
            Column::new("median", Kind::Number),
            Column::new("quartiles", Kind::Number),
        ],
        groups: vec![(None, rows)],
        heads: 1,
        has_details: false,
    };
    Section::part("raw", heading, vec![Part::Table(table)])
}

/// What stands below the name of a specification.
type Below = fn(&Measured) -> Option<String>;

fn ranking(bench: &Bench) -> Vec<Part> {
    let note = "With sectors of 512 bytes and work queues. Medians of the rates; below each stands its percentage \
                of the device without encryption in the same round, ± half the distance of the quartiles. The \
                score is the geometric mean of these percentages.";
    let all = &bench.ranking;
    let others = all.iter().filter_map(stands_for).collect();
    measured(bench, all, |_| None, ["ranking", "Ranking", note], others)
}

fn variants(bench: &Bench) -> Vec<Part> {
    let below: Below = |it| {
        let Options { sector_size, .. } = it.options;
        Some(format!("{sector_size} B sectors, {}", it.options.queues()))
    };
    let heading = "The best with other options";
    let note = "Larger sectors of encryption need fewer IVs. Without work queues the CPU that reads or writes \
                encrypts, too; whether that is faster depends on the machine.";
    let texts = ["variants", heading, note];
    measured(bench, &bench.variants, below, texts, Vec::new())
}

fn authenticated(bench: &Bench) -> Vec<Part> {
    let below: Below = |it| {
        let journal = match it.options.journal {
            None => "not authenticated",
            Some(true) => "with a journal",
            Some(false) => "without a journal",
        };
        Some(journal.to_owned())
    };
    let all = &bench.authenticated;
    let heading = "Authenticated, over dm-integrity";
    let note = "With sectors of 4096 bytes and work queues.";
    let mut notes = AUTHENTICATED.map(str::to_owned).to_vec();
    notes.extend(reasons(all));
    let texts = ["authenticated", heading, note];
    measured(bench, all, below, texts, notes)
}

/// A section with a note, rates and more notes, and one with the costs; none if nothing was measured.
fn measured(
    bench: &Bench,
    measured: &[Measured],
    below: Below,
    [id, heading, note]: [&str; 3],
    more: Vec<String>,
) -> Vec<Part> {
    if measured.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![Part::Note(note.into()), rates(bench, measured, below)];
    if !more.is_empty() {
        parts.push(Part::items(more));
    }
    let note = "Seconds of CPU time of the whole machine for each GB; below them the latency of a transfer in \
                microseconds, p50 and p99.";
    let costs = vec![Part::Note(note.into()), costs(bench, measured, below)];
    let costs_heading = format!("{heading}: what it costs");
    vec![
        Section::part(id, heading, parts),
        Section::part(&format!("{id}-costs"), &costs_heading, costs),
    ]
}

/// Rates, and their ratios to the device without encryption.
fn rates(bench: &Bench, measured: &[Measured], below: Below) -> Part {
    let cell =
        |figure: &Figure| Cell::new(units::rate(figure.rate.median)).with([ratio(&figure.ratio)]);
    let row = |measured: &Measured| {
        let mut row = head(measured, below);
        row.push(Cell::new(units::number(measured.score * 100.0)));
        row.extend(measured.figures.iter().map(cell));
        row
    };
    table(bench, &["Key", "Score"], measured.iter().map(row).collect())
}

/// CPU time and latencies, after those of the device without encryption.
fn costs(bench: &Bench, measured: &[Measured], below: Below) -> Part {
    let cell = |figure: &Figure| {
        let cpu = figure.cpu_seconds_per_gb.map_or("–".into(), units::number);
        let latency = [figure.latency.p50_ns, figure.latency.p99_ns];
        let latency = latency.map(|ns| units::number(ns / 1e3)).join(" ");
        Cell::new(cpu).with([latency])
    };
    let mut rows = vec![vec![Cell::new("no encryption"), Cell::default()]];
    rows.extend(measured.iter().map(|measured| head(measured, below)));
    let raw = bench.raw.as_slice();
    let figures = measured.iter().map(|measured| measured.figures.as_slice());
    for (row, figures) in rows.iter_mut().zip([raw].into_iter().chain(figures)) {
        row.extend(figures.iter().map(cell));
    }
    table(bench, &["Key"], rows)
}

/// A row for each specification, and a column for each workload.
fn table(bench: &Bench, heads: &[&str], rows: Vec<Vec<Cell>>) -> Part {
    let mut columns = vec![Column::new("Specification", Kind::Name)];
    columns.extend(heads.iter().map(|title| Column::new(title, Kind::Number)));
    let heads = columns.len();
    let column = |workload: &Workload| {
        // Parts of the title stand below each other.
        let title = workload.title.replace(", ", ",\n");
        Column::new(&title.replace(" at random", "\nat random"), Kind::Number)
    };
    columns.extend(bench.workloads.iter().map(column));
    Part::Table(Table {
        columns,
        groups: vec![(None, rows)],
        heads,
        has_details: true,
    })
}

/// The name of a specification, and the length of its key.
fn head(measured: &Measured, below: Below) -> Vec<Cell> {
    let spec = &measured.spec;
    let name = match spec.integrity {
        Some(integrity) => format!("{} {}", spec.name(), integrity.word()),
        None => spec.name(),
    };
    let is_doubted = measured.verdict != Verdict::Secure;
    let name = Cell {
        doubt: is_doubted.then(|| measured.verdict.described()),
        ..Cell::new(name).with(below(measured))
    };
    vec![name, Cell::new(spec.key_bits.to_string())]
}

/// A ratio in percent with half the distance of its quartiles: `82 % ±1.3`.
fn ratio(ratio: &Spread) -> String {
    let half = (ratio.high - ratio.low) / 2.0;
    format!("{} % ±{}", percent(ratio.median), percent(half))
}

/// Which specifications share these figures, a sentence; `None` if none do.
fn stands_for(measured: &Measured) -> Option<String> {
    let (spec, stands_for) = (&measured.spec, &measured.stands_for);
    let digests = stands_for.iter().filter(|other| other.iv != spec.iv);
    let digests: BTreeSet<String> = digests.map(|other| other.iv.to_string()).collect();
    let lengths = stands_for.iter().map(|other| other.key_bits);
    let lengths: BTreeSet<u32> = lengths.filter(|bits| *bits != spec.key_bits).collect();
    let mut parts = Vec::new();
    if !digests.is_empty() {
        let names = Vec::from_iter(digests).join(", ");
        let use_of_it = "whose digest is used only when a table is loaded";
        parts.push(format!("with {names}, {use_of_it}"));
    }
    if !lengths.is_empty() {
        let bits: Vec<String> = lengths.iter().map(u32::to_string).collect();
        parts.push(format!("with keys of {} bits", bits.join(", ")));
    }
    (!parts.is_empty()).then(|| format!("{spec} stands for others {}.", parts.join(", and ")))
}

/// Why those of `measured` that are not secure are not, a sentence each.
fn reasons(measured: &[Measured]) -> Vec<String> {
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

/// What was left out, by the first rule against it.
fn left_out(groups: &[LeftOut]) -> Option<Part> {
    let of = |verdict: Verdict| {
        let groups = groups.iter().filter(|it| it.reason.verdict == verdict);
        let rows = groups.map(|it| rule(&it.reason, it.count, [it.algorithms.join(", ")]));
        (Some(verdict.described()), rows.collect())
    };
    let note =
        "The kernel accepts these specifications; each is counted under the first rule against it.";
    let rules = rules_table([Verdict::Insecure, Verdict::Compatible].map(of));
    let parts = vec![Part::Note(note.into()), rules];
    (!groups.is_empty()).then(|| Section::part("left-out", "What was left out", parts))
}

/// The ranking as plots: one for each kind of transfer, reads beside writes.
fn plots(bench: &Bench) -> Part {
    if bench.ranking.is_empty() {
        return Part::OnPage(Vec::new());
    }
    let kind = |place: &usize| {
        let workload = &bench.workloads[*place];
        (workload.block, workload.depth, workload.is_random)
    };
    let places: Vec<usize> = (0..bench.workloads.len()).collect();
    let kinds = places.chunk_by(|one, next| kind(one) == kind(next));
    let note = "Rates as percent of the device without encryption in the same round: medians, and lines from \
                quartile to quartile where these are apart.";
    let figures = kinds.map(|places| figure(bench, places)).collect();
    let parts = vec![Part::Note(note.into()), Part::Plots(figures)];
    Part::OnPage(vec![Section::part("plots", "Beside no encryption", parts)])
}

/// The plots of the workloads at `places`, which differ only in their direction.
fn figure(bench: &Bench, places: &[usize]) -> Plots {
    let bar = |place: &usize| bench.workloads[*place].direction.verb();
    let row = |measured: &Measured| {
        let ratio = |place: &usize| measured.figures.get(*place).map(|figure| figure.ratio);
        let ratios = places.iter().map(ratio).collect();
        (measured.spec.to_string(), ratios)
    };
    let plot = |ranking: &[Measured]| {
        Plot::Bars(Bars {
            axis: "percent of the device without encryption",
            bars: places.iter().map(bar).collect(),
            rows: ranking.iter().map(row).collect(),
        })
    };
    let workload = &bench.workloads[places[0]];
    let order = if workload.is_random {
        "random"
    } else {
        "sequential"
    };
    let depth = match workload.depth {
        1 => "one at a time".into(),
        depth => format!("{depth} at once"),
    };
    Plots {
        heading: format!("{}, {order}, {depth}", units::length(workload.block as u64)),
        plots: bench.ranking.chunks(MOST_NAMES).map(plot).collect(),
        others: "The other specifications",
    }
}

/// How it was measured, and the command that does it again.
fn method(bench: &Bench) -> Part {
    let items = [
        "On dm-crypt devices of the kernel, under random keys that were given to the kernel and wiped; each lay over \
         the same device.",
        "In rounds: the device without encryption and each specification once a round, in an order that changes. \
         Figures are medians over the rounds, with quartiles.",
        "A ratio is the median of the rounds' ratios to the device without encryption, so what the machine did \
         meanwhile is in both of its parts.",
        "Transfers bypass the page cache (O_DIRECT), in sequence or at random offsets, one after the other or by \
         several threads that have one in flight each: the same way for every device. What a sample wrote is \
         flushed after its time is taken, so that no other sample pays for it.",
        "CPU time is what the kernel counts for the whole machine during a sample and its flush, in hundredths of a \
         second, over all rounds together. A latency is the time from the beginning of a transfer to its end, with \
         what it waited for others.",
        "ESSIV hashes the key only when a table is loaded: of specifications that differ in that digest only, or in \
         a length of key that AES does not have, one was measured.",
    ];
    let device = match bench.backing.kind {
        BackingKind::Ram => "",
        BackingKind::Device => " --device DEVICE",
    };
    let (rounds, sample_ms) = (bench.rounds, bench.sample_ms);
    let mib = bench.backing.bytes >> 20;
    let command = format!(
        "squall dmcrypt bench{device} --rounds {rounds} --sample {sample_ms}ms --size {mib}MiB \
         --export-html dmcrypt.html"
    );
    let again = "The same on another machine, for what is secure there";
    let parts = vec![
        Part::items(items.map(str::to_owned)),
        Part::Copy(again.into(), command),
    ];
    Section::part("method", "How it was measured", parts)
}
