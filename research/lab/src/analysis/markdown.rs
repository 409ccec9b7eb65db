//! Writes a campaign as Markdown: for each scenario, tables with a row for each source and a column for
//! each machine; then the uncertainty of Whirlwind's inputs.

use std::collections::BTreeSet;

use squall_probe::Source;
use squall_tool_base::columns::{self, Table};

use super::repeats::Repeats;
use super::report::{Campaign, Experiment, Kind, SourceReport, Validity};
use super::uncertainty::{OutputTime, Uncertainty};
use super::window::{Summary, Window};

/// Shown where there is no figure.
const NONE: &str = "–";

/// How to read the tables.
const NOTES: &str = "
### Notes

- Repeats: outputs that equal an earlier one, of any machine or from before a snapshot, of all \
outputs; then the machines that have a word of another one.
- Requests with common state: requests of a clone before its first output that shares no word with \
another clone, the time of that output, and the time of the first record with another generation: \
medians, and in parentheses the maximum. Sources without such requests are left out. The time of the \
latest record from before the snapshot is taken as the time of the resume, so times after it are \
upper bounds. A request that was in progress then began at the same cycle in every clone: it counts \
as made before the snapshot, and its output is not compared.
- Uncertainty: unpredictable bits by the paper's method, and in parentheses the number of bits that \
pass without a gap. κ: the paper's count for an output. Fast, both: bits in the fast seed, or in \
both seeds, when an output is computed. Each count is that of the run in which it is lowest. –: not \
reached within the first 400 inputs. The bits of an event are the low bits of its cycle count that \
pass a test for uniformity. Where the counter moves in steps of s cycles, the paper's method counts \
up to log2(s) too many; the count without a gap leaves out up to six of the lowest bits. Inputs are \
compared by their number since the resume, even if clones began to bootstrap at different inputs.
- A machine under tcg is emulated in software: the times of its events vary with the emulator and \
the host, and do not show how much they vary on hardware.
";

/// The report as Markdown.
pub fn markdown(campaign: &Campaign) -> String {
    let versions = campaign.versions.iter();
    let versions = versions.map(|(name, version)| format!(", {name} {version}"));
    let mut text = format!("{}{}\n", campaign.date, versions.collect::<String>());
    let experiments = &campaign.experiments;
    text += &verdicts(experiments);
    text += &section("Machines", &machines(experiments));
    // They are run one scenario after the other.
    let key = |experiment: &Experiment| (experiment.kind, experiment.setup.mode.clone());
    for scenario in experiments.chunk_by(|one, other| key(one) == key(other)) {
        text += &scenario_text(scenario);
    }
    text += &section("Uncertainty", &uncertainties(experiments));
    text + NOTES
}

/// What is wrong with each experiment, or that nothing is.
fn verdicts(experiments: &[Experiment]) -> String {
    let mut lines = String::new();
    for experiment in experiments {
        let setup = &experiment.setup;
        let mut add = |what: &str| {
            lines += &format!("- {}, {}: {what}\n", setup.machine, setup.mode);
        };
        if let Validity::Invalid(reason) = &experiment.verdict.validity {
            add(&format!("invalid: {reason}"));
        }
        let violated = experiment.verdict.violated.iter();
        violated.for_each(|claim| add(&format!("a claim is wrong: {claim}")));
    }
    if lines.is_empty() && !experiments.is_empty() {
        lines = "All experiments are valid, and every claim held.\n".into();
    }
    format!("\n{lines}")
}

fn machines(experiments: &[Experiment]) -> Table {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for Experiment { setup, .. } in experiments {
        let qemu = format!("{}, {}", setup.qemu, setup.accelerator);
        let row = [setup.machine.clone(), setup.kernel.clone(), qemu];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut table = table(["machine", "kernel", "QEMU"]);
    table.add_rows(rows);
    table
}

fn scenario_text(experiments: &[Experiment]) -> String {
    let Experiment {
        kind, setup, runs, ..
    } = &experiments[0];
    let (what, machines) = match kind {
        Kind::Boot => ("Boots", "boots"),
        Kind::Reset => ("Resets", "clones"),
    };
    let columns = experiments.iter().map(|other| other.setup.machine.as_str());
    let columns = || ["source"].into_iter().chain(columns.clone());
    let sources = experiments.iter().flat_map(|other| &other.sources);
    let sources: BTreeSet<Source> = sources.map(|report| report.source).collect();
    let (mut repeated, mut windows) = (table(columns()), table(columns()));
    for source in sources {
        let cells = |cell: fn(&SourceReport) -> Option<String>| {
            let of = |experiment: &Experiment| {
                let mut reports = experiment.sources.iter();
                cell(reports.find(|report| report.source == source)?)
            };
            experiments.iter().map(of).collect::<Vec<_>>()
        };
        let counts = cells(|report| Some(repeats(&report.repeats)));
        repeated.add_row(row(source.name(), counts));
        let shared = cells(|report| window(report.window.as_ref()?));
        if shared.iter().any(Option::is_some) {
            windows.add_row(row(source.name(), shared));
        }
    }
    let together = |other: &Experiment| Some(repeats(&other.guarded_together));
    let together = experiments.iter().map(together).collect();
    repeated.add_row(row("all guarded", together));
    let title = format!(
        "{what}, {}: repeats in {runs} {machines} of each machine",
        setup.mode
    );
    let shared = format!("{what}, {}: requests with common state", setup.mode);
    section(&title, &repeated) + &section(&shared, &windows)
}

fn repeats(repeats: &Repeats) -> String {
    let Repeats {
        repeated_outputs,
        outputs,
        machines_with_repeats,
        ..
    } = repeats;
    match machines_with_repeats {
        0 => format!("{repeated_outputs} of {outputs}"),
        machines => format!("{repeated_outputs} of {outputs}, {machines}"),
    }
}

/// A window's figures. None if no clone made a request with common state.
fn window(window: &Window) -> Option<String> {
    let Summary { median, max } = window.requests;
    let new_state = time(window.us_to_new_state, window.clones_without_new_state);
    let notice = time(window.us_to_notice, window.clones_without_notice);
    (max > 0).then(|| format!("{median} ({max}); {new_state}; {notice}"))
}

/// A time in milliseconds, and the number of clones in which the event never came.
fn time(us: Option<Summary<f64>>, never: usize) -> String {
    let time = us.map(|us| format!("{} ({}) ms", ms(us.median / 1e3), ms(us.max / 1e3)));
    match (time, never) {
        (None, _) => "never".into(),
        (Some(time), 0) => time,
        (Some(time), never) => format!("{time}, never in {never}"),
    }
}

fn uncertainties(experiments: &[Experiment]) -> Table {
    let mut table = table([
        "machine",
        "mode",
        "runs",
        "first event",
        "bootstrap",
        "κ of the first",
        "fast, both of the first",
        "κ is 1024",
        "fast has 512",
        "both have 1024",
    ]);
    for Experiment {
        setup, uncertainty, ..
    } in experiments
    {
        if let Some(uncertainty) = uncertainty {
            let names = [&setup.machine, &setup.mode].map(String::clone);
            table.add_row([&names[..], &uncertainty_cells(uncertainty)].concat());
        }
    }
    table
}

fn uncertainty_cells(uncertainty: &Uncertainty) -> Vec<String> {
    let cell = |paper: u32, conservative: u32| format!("{paper} ({conservative})");
    let event = uncertainty.events.first();
    let bootstrap = uncertainty.bootstrap;
    let output = uncertainty.outputs.first();
    let or_none = |cell: Option<String>| cell.unwrap_or(NONE.into());
    vec![
        uncertainty.trials.to_string(),
        or_none(event.map(|event| cell(event.paper, event.conservative))),
        or_none(bootstrap.map(|sum| cell(sum.paper, sum.conservative))),
        or_none(output.map(|output| output.paper.to_string())),
        or_none(output.map(|output| format!("{}, {}", output.fast, output.both))),
        output_time(uncertainty.paper_has_1024),
        output_time(uncertainty.fast_has_512),
        output_time(uncertainty.both_have_1024),
    ]
}

fn output_time(at: Option<OutputTime>) -> String {
    let text = |OutputTime { output, ms: time }| format!("output {output}, {} ms", ms(time));
    at.map_or(NONE.into(), text)
}

fn ms(ms: f64) -> String {
    match ms {
        100.0.. => format!("{ms:.0}"),
        10.0.. => format!("{ms:.1}"),
        1.0.. => format!("{ms:.2}"),
        _ => format!("{ms:.3}"),
    }
}

/// The borders of a table in Markdown, as comfy-table takes them.
const BORDERS: &str = "||  |-|||           ";

fn table<'a>(columns: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = columns::columns(None);
    table.load_preset(BORDERS).set_header(columns);
    table
}

/// A row with a name in its first column.
fn row(name: &str, cells: Vec<Option<String>>) -> Vec<String> {
    let cells = cells.into_iter().map(|cell| cell.unwrap_or(NONE.into()));
    [name.to_owned()].into_iter().chain(cells).collect()
}

/// The table below a title. Nothing if it is empty.
fn section(title: &str, table: &Table) -> String {
    if table.is_empty() {
        String::new()
    } else {
        format!("\n### {title}\n\n{table}\n")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::synthetic;
    use super::*;

    #[test]
    fn what_is_wrong_with_an_experiment_is_said() {
        let experiment = Experiment::of_resets(synthetic::setup(), &synthetic::resets(2));
        let mut campaign = Campaign {
            date: "2025-01-31".into(),
            versions: BTreeMap::new(),
            experiments: vec![experiment],
        };
        let good = markdown(&campaign);
        assert!(good.contains("\n\nAll experiments are valid, and every claim held.\n"));
        let verdict = &mut campaign.experiments[0].verdict;
        verdict.validity = Validity::Invalid("no control".into());
        verdict.violated = vec!["squall repeated".into()];
        let text = markdown(&campaign);
        assert!(text.contains(": invalid: no control\n"), "{text}");
        assert!(
            text.contains(": a claim is wrong: squall repeated\n"),
            "{text}"
        );
        assert!(!text.contains("All experiments are valid"));
    }
}
