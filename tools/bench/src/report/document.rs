//! The report for people: which tables and sentences a run has.

use squall::CloneGuard;
use squall_tool_base::report::{Cell, Column, Document, Kind, Medium, Part, Section, Table};
use squall_tool_base::units;

use super::model::{
    Group, MeasuredMachine, Point, Report, SourceReport, State, Workload, workload,
};
use super::plots;
use super::published::{self, DOCUMENTS, Published};

/// Stands where nothing was measured.
const NONE: &str = "–";

/// Shortest request of which throughput says more than time, in bytes.
const LONG: u64 = 1 << 10;

/// Workloads of which throughput says more than time.
const BY_RATE: [&str; 3] = [
    workload::PIPE,
    workload::THREADS_SMALL,
    workload::THREADS_LARGE,
];

/// Lengths of requests in the first table, behind `u32` and `u64`, and those whose ratios terminals show.
const LENGTHS: [u64; 6] = [16, 32, 1 << 10, 16 << 10, 1 << 20, 16 << 20];
const WITH_RATIO: [u64; 2] = [32, 16 << 10];

/// Workloads that have a section of their own, in its order.
const SECTIONS: [&str; 6] = [
    workload::PIPE,
    workload::THREADS_SMALL,
    workload::THREADS_LARGE,
    workload::START,
    workload::FORK,
    workload::FILL,
];

/// States without figures, and a sentence on them.
#[rustfmt::skip]
const LEFT_OUT: [(State, &str, &str); 3] = [
    (State::Disqualified, "Disqualified", "Their output cannot be random."),
    (State::Failed, "Failed", "They failed while they were measured."),
    (State::Missing, "Missing", "They are not on this machine."),
];

/// The whole report.
pub fn document(report: &Report) -> Document {
    let machine = &report.machine;
    let incomplete = "The run was interrupted: workloads or points are missing.";
    let incomplete = (!report.complete).then(|| ("Incomplete", incomplete.to_owned()));
    let noise = report.noise.warning.clone();
    let mut parts = vec![machine_section(report), overview(report)];
    let plots = plots::figures(report);
    if !plots.is_empty() {
        let note = "Both axes are logarithmic. Dashed: published figures, of other machines.";
        let plots = vec![Part::Note(note.into()), Part::Plots(plots)];
        parts.push(Part::OnPage(vec![Section::part("plots", "Plots", plots)]));
    }
    let workloads = SECTIONS.iter().filter_map(|name| report.workload(name));
    parts.extend(workloads.map(|workload| section(report, workload)));
    parts.extend(
        LEFT_OUT
            .into_iter()
            .filter_map(|state| left_out(report, state)),
    );
    parts.push(Part::OnPage(method(report)));
    Document {
        title: format!("Sources of randomness on {}", machine.cpu),
        command: "squall bench",
        heading: "Sources of randomness, side by side",
        machine: format!("{}, Linux {}", machine.cpu, machine.kernel),
        date: [
            report.date.clone(),
            report.date.replace('T', " ").replace('Z', " UTC"),
        ],
        warnings: incomplete
            .into_iter()
            .chain(noise.map(|it| ("Noisy", it)))
            .collect(),
        advice: vec![Part::Advice(report.advice.clone())],
        parts,
        footer: format!(
            "squall {}, report of schema {}",
            report.squall_version, report.schema
        ),
    }
}

impl MeasuredMachine {
    /// Facts by their names, without the versions of software.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let or_none = |value: &Option<String>| value.clone().unwrap_or("none".into());
        let warnings = match self.warnings.as_slice() {
            [] => "none".into(),
            codes => codes.join(", "),
        };
        let measured_on = if self.pinned {
            "one CPU"
        } else {
            "no CPU in particular"
        };
        let when = match CloneGuard::from_name(&self.clone_guard) {
            Some(CloneGuard::Signal(signal)) if signal.is_immediate() => " (immediate signal)",
            Some(CloneGuard::Signal(_)) => " (late notification)",
            Some(CloneGuard::NoSignal) => " (no notification)",
            _ => "",
        };
        vec![
            ("CPU", self.cpu.clone()),
            ("CPUs", self.cpus.to_string()),
            ("Kernel", format!("Linux {}", self.kernel)),
            ("Hypervisor", or_none(&self.hypervisor)),
            ("Governor", or_none(&self.governor)),
            ("Measured on", measured_on.into()),
            ("Engine", self.engine.clone()),
            (
                "Guard against clones",
                format!("{}{when}", self.clone_guard),
            ),
            ("Warnings of squall status", warnings),
        ]
    }
}

fn machine_section(report: &Report) -> Part {
    let noise = &report.noise;
    let noise = format!(
        "quartiles {:.1} % apart, {:.1} % of the time stolen, load average {}",
        noise.spread_percent, noise.steal_percent, noise.load
    );
    let mut facts = report.machine.facts();
    facts.extend([
        ("squall", report.squall_version.clone()),
        ("Noise", noise),
        ("Time of the run", format!("{:.0} s", report.seconds)),
    ]);
    let facts = facts.into_iter().map(|(name, fact)| (name.into(), fact));
    let versions = report.machine.versions.iter();
    let versions = versions.map(|it| (it.of.clone(), it.version.clone()));
    let parts = vec![
        Part::Facts(facts.collect()),
        Part::Folded("Versions", vec![Part::Facts(versions.collect())]),
    ];
    Section::part("machine", "The machine", parts)
}

/// The figures of a column: what sources took at a place of a workload.
struct Place<'a> {
    workload: &'a Workload,
    at: u64,
    title: String,
}

impl Place<'_> {
    /// Whether its figures are throughput.
    fn is_by_rate(&self) -> bool {
        let is_long = self.workload.name == workload::FILL && self.at >= LONG;
        is_long || BY_RATE.contains(&self.workload.name.as_str())
    }

    /// The time of `point`, or its throughput.
    fn figure(&self, point: &Point) -> String {
        match point.rate().filter(|_| self.is_by_rate()) {
            Some(rate) => units::rate(rate),
            None => units::time(point.ns.median),
        }
    }

    /// How many times as fast as the kernel's source it is; none where either was not measured.
    fn ratio(&self, source: &str) -> Option<f64> {
        let point = self.workload.point(source, self.at)?;
        self.workload.speedup_over_kernel(point)
    }

    /// The figure of `source`, and what there is to it.
    fn cell(&self, report: &Report, source: &str) -> Cell {
        let Some(point) = self.workload.point(source, self.at) else {
            return Cell::new(NONE);
        };
        let ratio = match self.ratio(source) {
            _ if self.workload.kernel.as_deref() == Some(source) => Some("kernel".into()),
            ratio => ratio.map(units::times),
        };
        Cell {
            is_best: report.winner(self.workload, self.at) == Some(source),
            ..Cell::new(self.figure(point)).with(ratio)
        }
    }
}

/// The sources that have a figure at any of `places`, by their families. Terminals show the names of the command
/// line and columns with `ratios`, and pages titles, ratios below figures and, if `has_security`, below titles what is
/// to be known of security, where phones show it too.
fn table(
    report: &Report,
    places: &[Place],
    ratios: &[(String, &Place)],
    has_security: bool,
) -> Table {
    let mut columns = vec![
        Column::new("", Kind::Name).only_on(Medium::Terminal),
        Column::new("source", Kind::Name).only_on(Medium::Terminal),
        Column::new("Source", Kind::Name).only_on(Medium::Page),
    ];
    let heads = columns.len();
    columns.extend(
        places
            .iter()
            .map(|place| Column::new(&place.title, Kind::Number)),
    );
    for (title, _) in ratios {
        columns.push(Column::new(title, Kind::Number).only_on(Medium::Terminal));
    }
    let row = |source: &SourceReport| {
        let fitness = if source.secure { "S" } else { "" };
        let mut row = vec![
            Cell::new(fitness),
            Cell::new(&*source.name),
            Cell::new(&*source.title).with(has_security.then(|| security(source))),
        ];
        row.extend(places.iter().map(|place| place.cell(report, &source.name)));
        let ratio = |place: &Place| place.ratio(&source.name).map(units::number);
        let ratios = ratios.iter().map(|(_, place)| ratio(place));
        row.extend(ratios.map(|ratio| Cell::new(ratio.unwrap_or(NONE.into()))));
        row
    };
    let has_figure = |source: &&SourceReport| {
        let mut points = places
            .iter()
            .map(|it| it.workload.point(&source.name, it.at));
        points.any(|point| point.is_some())
    };
    let shown: Vec<&SourceReport> = report.sources.iter().filter(has_figure).collect();
    let of_group = |group| {
        let sources = shown.iter().filter(|source| source.group == group);
        (
            Some(family(group)),
            sources.map(|source| row(source)).collect(),
        )
    };
    let groups = Group::ALL.into_iter().map(of_group);
    Table {
        columns,
        groups: groups
            .filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty())
            .collect(),
        heads,
        has_details: false,
    }
}

/// Whether a source is fit for secrets, and what else is to be known of its security.
fn security(source: &SourceReport) -> String {
    let fitness = if source.secure {
        "fit for secrets"
    } else {
        "not for secrets"
    };
    match &source.caveat {
        Some(caveat) => format!("{fitness}: {caveat}"),
        None => fitness.into(),
    }
}

fn family(group: Group) -> &'static str {
    match group {
        Group::Squall => "squall",
        Group::Variant => "squall with one thing changed",
        Group::Kernel => "The kernel's generator",
        Group::Library => "Libraries and languages",
        Group::Accumulator => "Accumulators of entropy",
        Group::Other => "Not for secrets",
    }
}

/// The table of requests, where any were measured.
fn overview(report: &Report) -> Part {
    let numbers = [("u32", 4), ("u64", 8)].map(|(title, at)| (workload::WORDS, at, Some(title)));
    let fills = LENGTHS.map(|at| (workload::FILL, at, None));
    let place = |(name, at, title): (_, _, Option<&str>)| {
        let workload = report.workload(name)?;
        let title = title.map_or_else(|| workload.place(at), Into::into);
        let is_measured = workload.places().contains(&at);
        is_measured.then_some(Place {
            workload,
            at,
            title,
        })
    };
    let places: Vec<Place> = numbers.into_iter().chain(fills).filter_map(place).collect();
    let Some(first) = places.first() else {
        return Part::OnPage(Vec::new());
    };
    let with_ratio = places.iter().filter(|place| WITH_RATIO.contains(&place.at));
    let ratios: Vec<(String, &Place)> = with_ratio
        .map(|place| (format!("{} ×", place.title), place))
        .collect();
    let kernel = first.workload.kernel.as_deref().unwrap_or("the kernel");
    let on_page = "Time of a request, and throughput of long ones. ★ marks the fastest of the sources that \
                   are fit for secrets; below each figure stands how many times as fast as the kernel's \
                   source it is.";
    let on_terminal = [
        "S fit for secrets: neither a forked child repeats it nor a VM clone that the kernel learns of. \
         * the fastest of those."
            .to_owned(),
        format!(
            "× how many times as fast as {kernel}. squall bench --explain SOURCE explains how a source is \
             measured."
        ),
    ];
    let parts = vec![
        Part::OnPage(vec![Part::Note(on_page.into())]),
        Part::Table(table(report, &places, &ratios, true)),
        Part::OnTerminal(on_terminal.map(Part::Note).into()),
    ];
    Section::part("overview", "At a glance", parts)
}

/// A workload, with a column for each place.
fn section(report: &Report, workload: &Workload) -> Part {
    let at = workload.places();
    let title = |at| match workload.places().len() {
        1 => workload.operation.clone(),
        _ => workload.place(at),
    };
    let place = |at| Place {
        workload,
        at,
        title: title(at),
    };
    let places: Vec<Place> = at.into_iter().map(place).collect();
    let last: Vec<(String, &Place)> = places
        .last()
        .map(|last| ("×".into(), last))
        .into_iter()
        .collect();
    let mut parts = vec![
        Part::OnPage(vec![Part::Note(quantity(workload))]),
        Part::Table(table(report, &places, &last, false)),
    ];
    let published = published_of(report, workload);
    if !published.is_empty() {
        let note = "Figures that others published, of other machines:".to_owned();
        let published = vec![Part::Note(note), Part::Items(published)];
        parts.push(Part::OnPage(published));
    }
    if !workload.failures.is_empty() {
        parts.push(Part::Note("What failed:".into()));
        parts.push(Part::items(workload.failures.clone()));
    }
    // The table of all lengths is wide, and its plots are above.
    if workload.name == workload::FILL {
        let folded = vec![Part::Folded("Every length", parts)];
        return Part::OnPage(vec![Section::part(&workload.name, &workload.title, folded)]);
    }
    Section::part(&workload.name, &workload.title, parts)
}

/// What the figures of a workload are, for people.
fn quantity(workload: &Workload) -> String {
    let operation = &workload.operation;
    match workload.name.as_str() {
        name if BY_RATE.contains(&name) => "Throughput.".into(),
        workload::FILL => format!("Time of {operation}, and throughput of long ones."),
        _ => format!("Time of {operation}."),
    }
}

/// A line for each source of `workload` of which others published something, with the number of the document.
fn published_of(report: &Report, workload: &Workload) -> Vec<(String, Option<usize>)> {
    let line = |source: &str| {
        let figures: Vec<_> = published::figures_of(&workload.name, source).collect();
        let first = figures.first()?;
        let between = if first.at.is_some() { ", " } else { " to " };
        let texts: Vec<_> = figures
            .iter()
            .map(|it| published_figure(workload, it))
            .collect();
        let number = DOCUMENTS.iter().position(|it| *it == first.document)? + 1;
        let label = first.label.map(|label| format!(" ({label})"));
        let text = format!(
            "{}: {}{}",
            report.title(source),
            texts.join(between),
            label.unwrap_or_default()
        );
        Some((text, Some(number)))
    };
    let sources = workload.series.iter().map(|series| series.source.as_str());
    sources.filter_map(line).collect()
}

fn published_figure(workload: &Workload, figure: &Published) -> String {
    let rate = units::rate(figure.rate);
    match figure.at {
        Some(at) => format!("{}: {rate}", workload.place(at)),
        None => rate,
    }
}

/// Sources without figures, and why.
fn left_out(report: &Report, (state, heading, note): (State, &str, &str)) -> Option<Part> {
    let sources = report.sources.iter().filter(|source| source.state == state);
    let line = |source: &SourceReport| {
        let reason = source.reason.as_deref().unwrap_or("no reason was given");
        format!("{}: {reason}", source.title)
    };
    let lines: Vec<String> = sources.map(line).collect();
    (!lines.is_empty()).then(|| {
        let parts = vec![Part::Note(note.into()), Part::items(lines)];
        Section::part(&heading.to_lowercase(), heading, parts)
    })
}

/// How it was measured, who else has figures, and how to measure it again.
fn method(report: &Report) -> Vec<Part> {
    let machine = &report.machine;
    let bound = if machine.pinned {
        "The thread that measures was bound to one CPU, but for threads, pipes and Go."
    } else {
        "The thread that measures was not bound to a CPU."
    };
    let items = [
        "In rounds: each source once a round, in an order that changes. A sample is the mean of a batch of \
         about a millisecond, or one operation that takes longer; figures are medians of samples."
            .to_owned(),
        "A ratio is the median of the rounds' ratios, so what the machine did meanwhile is in both of its \
         parts."
            .into(),
        format!(
            "{bound} Reading the clock takes {:.0} ns, which is subtracted from first bytes and negligible \
             for a batch.",
            machine.clock_ns
        ),
        "Fit for secrets is a cryptographic generator whose output neither a forked child repeats nor a clone \
         that the kernel noticed."
            .into(),
    ];
    let quick = report.effort.choose(" --quick", "");
    let command = format!("squall bench{quick} --export-html bench.html");
    let parts = vec![
        Part::items(items),
        Part::Copy("The same on another machine".into(), command),
    ];
    let source = |document: &&published::Document| format!("{}, {}", document.title, document.year);
    let sources = vec![Part::Sources(DOCUMENTS.iter().map(source).collect())];
    vec![
        Section::part("method", "How it was measured", parts),
        Section::part("published", "Published figures", sources),
    ]
}
