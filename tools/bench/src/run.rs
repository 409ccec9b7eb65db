//! A run from its arguments to its report.

use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use squall_tools::reports::Reports;
use squall_tools::{Failure, Interrupt, output};

use crate::args::BenchArguments;
use crate::candidates::Candidates;
use crate::child::Child;
use crate::machine::{self, View, Watch};
use crate::report::document::document;
use crate::report::model::{Report, SCHEMA, Workload};
use crate::report::{compare, lines};
use crate::session::{Effort, Session};
use crate::sources::{self, Entry};
use crate::work;
use crate::workloads::{self, Kind};
use crate::{advice, battery, explain, go};

/// Does what was asked for; `view` is called when it comes to describing the machine.
pub fn run(
    options: &BenchArguments,
    view: impl FnOnce() -> Result<View, Failure>,
) -> Result<(), Failure> {
    if let Some(child) = Child::this_process() {
        return work::run(&child, sources::open);
    }
    if options.batteries {
        return battery::run(options);
    }
    if let Some(entry) = options.explain.as_deref().and_then(sources::find) {
        return output::print(&explain::explain(entry));
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
    let text = || text(&report, old.as_ref());
    outputs.give(&report, || lines(&report), page, text)?;
    if report.complete {
        Ok(())
    } else {
        Err(Failure::Runtime(
            "interrupted: the report has what was measured so far".into(),
        ))
    }
}

/// What is shown of `report`, and what became of `old`.
fn text(report: &Report, old: Option<&Report>) -> String {
    let mut text = document(report).text(output::width());
    if let Some(old) = old {
        text.push_str(&format!("\n{}", compare::compare(old, report)));
    }
    text
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
    let is_wanted = |entry: &Entry| options.asks_for(entry.name);
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
    report.advice = advice::advice(&report);
    Ok(report)
}

/// The workloads that were asked for, in their order.
fn kinds(options: &BenchArguments) -> Vec<Kind> {
    let all = Kind::value_variants().iter().copied();
    all.filter(|kind| options.workload.is_empty() || options.workload.contains(kind))
        .collect()
}
