//! A run from its arguments to its report, and the work of child processes.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use squall_tool_base::reports::Reports;
use squall_tool_base::{Failure, Interrupt, output, units};

use crate::args::BenchArguments;
use crate::candidates::Candidates;
use crate::child::{Child, Unopened, Work};
use crate::machine::{self, View, Watch};
use crate::report::document::document;
use crate::report::model::{Report, SCHEMA, Workload};
use crate::report::{self, compare, lines, published};
use crate::session::{Effort, Session};
use crate::sources::{self, Entry, Opened, RunsIn};
use crate::workloads::{self, Kind, processes};
use crate::{go, remote};

/// Does what was asked for; `view` is called when it comes to describing the machine.
pub fn run(
    options: &BenchArguments,
    view: impl FnOnce() -> Result<View, Failure>,
) -> Result<(), Failure> {
    if let Some(child) = Child::this_process() {
        return work(&child, sources::open);
    }
    if let Some(entry) = options.explain.as_deref().and_then(sources::find) {
        return output::print(&explain(entry));
    }
    if let Some(entry) = options.bytes_of.as_deref().and_then(sources::find) {
        return write_bytes(entry);
    }
    bench(options, view()?)
}

fn bench(options: &BenchArguments, view: View) -> Result<(), Failure> {
    let old = options.compare.as_deref().map(compare::read).transpose()?;
    let outputs = Reports::open(&options.reports, options.export_html.as_deref())?;
    if outputs.on_stdout() > 0 && options.compare.is_some() {
        return Err(Failure::Usage(
            "--compare prints a table, but a report already goes to standard output: write the \
             report to a file, for example with --export-json FILE"
                .into(),
        ));
    }
    let report = measure(options, view)?;
    let page = || document(&report).page();
    let text = || {
        let changes = old.as_ref().map(|old| compare::compare(old, &report));
        let changes = changes.map_or(String::new(), |changes| format!("\n{changes}"));
        document(&report).text(output::width()) + &changes
    };
    outputs.give(&report, || lines(&report), page, text)?;
    if report.complete {
        Ok(())
    } else {
        Err(Failure::Runtime(
            "interrupted: the report has what was measured so far".into(),
        ))
    }
}

/// What opening sources takes, and looking at them.
const OPENING: Duration = Duration::from_secs(2);

/// Measures everything that was asked for.
fn measure(options: &BenchArguments, view: View) -> Result<Report, Failure> {
    let effort = if options.quick {
        Effort::Quick
    } else {
        Effort::Full
    };
    let date = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let interrupt = Interrupt::watch("the report has what was measured so far")?;
    let kinds = kinds(options);
    let expected: Duration = kinds.iter().map(|kind| kind.expected(effort)).sum();
    let mut session = Session::begin(effort, OPENING + expected, interrupt);
    session.step("sources", OPENING);
    let watch = Watch::begin();
    let go = go::program("go".as_ref(), effort == Effort::Full);
    let is_wanted = |entry: &Entry| {
        let mut named = options.source.iter();
        options.source.is_empty() || named.any(|name| name == entry.name)
    };
    let mut candidates = Candidates::open(is_wanted, &go);
    candidates.check(&session);
    let version = go.as_ref().ok().map(|program| program.version().to_owned());
    let mut machine = machine::describe(&squall::status(), view, version);
    let mut bench = workloads::Bench {
        candidates,
        session,
        go: go.as_ref().ok(),
        cpus: machine::cpus(),
        pinned: false,
    };
    let workloads: Vec<Workload> = kinds.iter().flat_map(|&kind| bench.measure(kind)).collect();
    machine.pinned = bench.pinned;
    let mut report = Report {
        schema: SCHEMA,
        squall_version: env!("CARGO_PKG_VERSION").into(),
        date,
        effort,
        complete: !bench.session.is_interrupted(),
        seconds: bench.session.elapsed().as_secs_f64(),
        machine,
        noise: watch.end(&workloads),
        sources: bench.candidates.reports(),
        workloads,
        advice: String::new(),
    };
    report.advice = report::advice(&report);
    Ok(report)
}

/// The workloads that were asked for, in their order.
fn kinds(options: &BenchArguments) -> Vec<Kind> {
    let all = Kind::value_variants().iter().copied();
    all.filter(|kind| options.workload.is_empty() || options.workload.contains(kind))
        .collect()
}

/// Does the work of `child`, one experiment or serving a source, with the source that `open` gives.
/// Fails if there is no such source, or it did nothing.
pub fn work(child: &Child, open: fn(&str) -> Opened) -> Result<(), Failure> {
    let mut source = Unopened::new(&child.source, open);
    let nanoseconds = match child.work {
        Work::FirstBytes => processes::time_first_draw(&mut source, child.bytes)?,
        Work::Forks => processes::time_forks(&mut source, child.bytes)?,
        Work::Pipe => return processes::write_blocks(&mut source, child.bytes),
        Work::Serve => return remote::serve(open(&child.source)),
    };
    output::print(&format!("{nanoseconds}\n"))
}

/// Writes bytes of the source of `entry` to standard output until the reader closes the pipe, for `--bytes-of`.
fn write_bytes(entry: &Entry) -> Result<(), Failure> {
    output::check()?;
    if io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "--bytes-of writes raw bytes, and standard output is a terminal: use a pipe".into(),
        ));
    }
    let go = match entry.runs_in {
        RunsIn::GoProgram(_) => go::program("go".as_ref(), true),
        _ => Err("it is not needed".into()),
    };
    let mut candidates = Candidates::open(|it| it.name == entry.name, &go);
    let candidate = &mut candidates.0[0];
    let reason = candidate.reason().to_owned();
    let Some(source) = candidate.source() else {
        let problem = format!(
            "{}: --bytes-of cannot write its bytes: {reason}",
            entry.name
        );
        return Err(Failure::Runtime(problem));
    };
    let mut output = io::stdout().lock();
    // A cipher encrypts what it finds: zeros, so that it writes its keystream.
    let mut out = vec![0; 1 << 16];
    loop {
        out.fill(0);
        source.fill(&mut out)?;
        let written = output.write_all(&out);
        written.map_err(|error| Failure::of_write("standard output", &error))?;
    }
}

/// How a source is measured, for `--explain`.
fn explain(entry: &Entry) -> String {
    let fitness = if entry.secure {
        "fit for secrets: neither a forked child repeats it nor a VM clone that the kernel learns of"
    } else {
        "not for secrets by itself"
    };
    let caveat = match entry.caveat {
        "" => String::new(),
        caveat => format!(" ({caveat})"),
    };
    let there = match entry.runs_in {
        RunsIn::ThisProcess => match (entry.open)() {
            Ok(_) => "available".to_owned(),
            Err(reason) => format!("not available: {reason}"),
        },
        RunsIn::OwnProcess(_) | RunsIn::GoProgram(_) => {
            "it runs in a process of its own".to_owned()
        }
        RunsIn::OtherProgram => {
            "it is a program, measured in workloads that start programs".to_owned()
        }
    };
    let mut text = format!(
        "{} ({})\n\n{}.\n\nSecurity: {fitness}{caveat}.\nOn this machine: {there}.\n{METHOD}",
        entry.title, entry.name, entry.explained
    );
    let published = published::FIGURES.iter();
    for figure in published.filter(|figure| figure.source == entry.name) {
        let (rate, document) = (units::rate(figure.rate), figure.document);
        let label = figure.label.map(|label| format!("{label}, "));
        text += &format!(
            "\nPublished: {}{rate} ({}, {})",
            label.unwrap_or_default(),
            document.title,
            document.year
        );
    }
    text.push('\n');
    text
}

const METHOD: &str = "
How it is measured: 192 KiB of its output are checked first; a source of zeros or of repeated blocks is
disqualified. Then all sources take turns, in rounds whose order changes. A turn is a batch of a
millisecond for requests and numbers, and a single operation for everything else. A figure is the median
of the rounds, shown with its quartiles; a ratio is the median of the ratios of single rounds. The loop
over requests is compiled for each source, buffers pass through an optimisation barrier, and a batch that
leaves a buffer of 16 bytes or more unchanged is an error. The measuring thread is bound to one CPU where
that is allowed, except for threads, pipes and Go. The report has the cost of reading the clock, which is
subtracted from first bytes only.";
