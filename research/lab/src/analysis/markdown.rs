//! Writes a campaign as Markdown: tables of resets, of boots, and of uncertainty.

use super::repeats::Repeats;
use super::report::Validity;
use super::report::{Campaign, Experiment, Kind, SourceReport};
use super::summary::Summary;
use super::uncertainty::{OutputTime, Uncertainty};
use super::window::Window;

/// Shown where there is no figure.
const NONE: &str = "–";

const RESETS: &str = "\
Repeated: equal to an earlier output or word, of any clone or from before the snapshot. Window: requests of a clone before its first output that shares no word with another clone.
New state: the time of that output. Notice: the time of the first record with another generation. Later repeats: requests after that output with a word that was also returned elsewhere.
";

const BOOTS: &str = "\
Repeated: equal to an earlier output or word, of the same boot or another.
Boots that repeat: boots with a word that another boot has too.
";

const UNCERTAINTY: &str = "\
Unpredictable bits by the paper's method, and in parentheses the number of bits that pass without a gap. κ: the paper's count for an output.
Fast, both: bits in the fast seed, or in both seeds, when an output is computed. Each count is that of the run in which it is lowest. –: not reached within the first 400 inputs.
";

/// The report as Markdown.
pub fn markdown(campaign: &Campaign) -> String {
    let versions = campaign.versions.iter();
    let versions = versions.map(|(name, version)| format!(", {name} {version}"));
    let mut text = format!("{}{}\n", campaign.date, versions.collect::<String>());
    let experiments = &campaign.experiments;
    section(
        &mut text,
        "Experiments",
        &experiments_table(experiments),
        "",
    );
    section(&mut text, "Resets", &resets_table(experiments), RESETS);
    section(&mut text, "Boots", &boots_table(experiments), BOOTS);
    let uncertainty = uncertainty_table(experiments);
    section(&mut text, "Uncertainty", &uncertainty, UNCERTAINTY);
    text + &notes(experiments)
}

/// A table: its column names and its lines.
struct Table {
    columns: &'static [&'static str],
    lines: Vec<Vec<String>>,
}

fn experiments_table(experiments: &[Experiment]) -> Table {
    let line = |experiment: &Experiment| {
        let verdict = &experiment.verdict;
        let validity = match &verdict.validity {
            Validity::Valid => "valid".into(),
            Validity::Invalid(reason) => format!("invalid: {reason}"),
        };
        let violated = if verdict.violated.is_empty() {
            "none".into()
        } else {
            verdict.violated.join("; ")
        };
        let setup = &experiment.setup;
        let runs = experiment.runs.to_string();
        let qemu = format!("{}, {}", setup.qemu, setup.accelerator);
        vec![runs, setup.kernel.clone(), qemu, validity, violated]
    };
    Table {
        columns: &[
            "machine",
            "mode",
            "kind",
            "runs",
            "kernel",
            "QEMU",
            "verdict",
            "claims violated",
        ],
        lines: experiments
            .iter()
            .map(|experiment| [name(experiment), line(experiment)].concat())
            .collect(),
    }
}

fn resets_table(experiments: &[Experiment]) -> Table {
    let line = |source: &SourceReport| {
        let window = source.window.as_ref();
        [
            repeats(source.source.name(), &source.repeats),
            window.map_or(vec![NONE.into(); 4], window_cells),
        ]
        .concat()
    };
    Table {
        columns: &[
            "machine",
            "mode",
            "source",
            "repeated outputs",
            "repeated words",
            "clones that repeat",
            "window, median (max)",
            "new state, median (max)",
            "notice, median (max)",
            "later repeats",
        ],
        lines: lines_of(experiments, Kind::Reset, line),
    }
}

fn boots_table(experiments: &[Experiment]) -> Table {
    let line = |source: &SourceReport| repeats(source.source.name(), &source.repeats);
    Table {
        columns: &[
            "machine",
            "mode",
            "source",
            "repeated outputs",
            "repeated words",
            "boots that repeat",
        ],
        lines: lines_of(experiments, Kind::Boot, line),
    }
}

/// A line for each source of each experiment of this kind, and one for all guarded sources together.
fn lines_of(
    experiments: &[Experiment],
    kind: Kind,
    line: impl Fn(&SourceReport) -> Vec<String>,
) -> Vec<Vec<String>> {
    let experiments = experiments.iter().filter(|e| e.kind == kind);
    let lines = experiments.flat_map(|experiment| {
        let setup = &experiment.setup;
        let machine = [&setup.machine, &setup.mode].map(String::clone);
        let together = repeats("all guarded", &experiment.guarded_together);
        let sources = experiment.sources.iter().map(&line).chain([together]);
        let lines = sources.map(move |line| [machine.to_vec(), line].concat());
        lines.collect::<Vec<_>>()
    });
    lines.collect()
}

fn repeats(source: &str, repeats: &Repeats) -> Vec<String> {
    vec![
        source.into(),
        format!("{} of {}", repeats.repeated_outputs, repeats.outputs),
        repeats.repeated_words.to_string(),
        repeats.machines_with_repeats.to_string(),
    ]
}

fn window_cells(window: &Window) -> Vec<String> {
    let Summary { median, max, .. } = window.requests;
    vec![
        format!("{median} ({max})"),
        time(window.us_to_new_state, window.clones_without_new_state),
        time(window.us_to_notice, window.clones_without_notice),
        window.repeats_after_new_state.to_string(),
    ]
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

fn uncertainty_table(experiments: &[Experiment]) -> Table {
    let lines = experiments.iter().filter_map(|experiment| {
        let uncertainty = experiment.uncertainty.as_ref()?;
        Some([name(experiment), uncertainty_cells(uncertainty)].concat())
    });
    Table {
        columns: &[
            "machine",
            "mode",
            "kind",
            "runs",
            "first event",
            "bootstrap",
            "κ of the first",
            "fast, both of the first",
            "κ is 1024",
            "fast has 512",
            "both have 1024",
        ],
        lines: lines.collect(),
    }
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

fn name(experiment: &Experiment) -> Vec<String> {
    let setup = &experiment.setup;
    let kind = experiment.kind.name();
    vec![setup.machine.clone(), setup.mode.clone(), kind.into()]
}

fn ms(ms: f64) -> String {
    match ms {
        100.0.. => format!("{ms:.0}"),
        10.0.. => format!("{ms:.1}"),
        1.0.. => format!("{ms:.2}"),
        _ => format!("{ms:.3}"),
    }
}

/// All notes, each once.
fn notes(experiments: &[Experiment]) -> String {
    let mut notes: Vec<&String> = Vec::new();
    for note in experiments.iter().flat_map(|e| &e.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let lines = notes.iter().map(|note| format!("- {note}\n"));
    format!("\n### Notes\n\n{}", lines.collect::<String>())
}

/// Writes a table with aligned columns and its legend. An empty table is left out.
fn section(text: &mut String, title: &str, table: &Table, legend: &str) {
    if table.lines.is_empty() {
        return;
    }
    let columns = table.columns.iter().enumerate();
    let widths = columns.map(|(column, name)| {
        let cells = table.lines.iter().filter_map(|line| line.get(column));
        let widths = cells.map(|cell| cell.chars().count());
        widths.chain([name.chars().count()]).max().unwrap_or(0)
    });
    let widths: Vec<usize> = widths.collect();
    let header: Vec<String> = table.columns.iter().map(|&name| name.into()).collect();
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    *text += &format!("\n### {title}\n\n");
    for line in [&header, &rule].into_iter().chain(&table.lines) {
        *text += &aligned(line, &widths);
    }
    if !legend.is_empty() {
        *text += &format!("\n{legend}");
    }
}

fn aligned(line: &[String], widths: &[usize]) -> String {
    let cells = widths.iter().enumerate().map(|(column, &width)| {
        let cell = line.get(column).map_or(NONE, String::as_str);
        format!(" {cell:width$} |")
    });
    format!("|{}\n", cells.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    #[test]
    fn tables_are_aligned_and_explained() {
        let text = markdown(&synthetic::campaign());
        for title in ["Experiments", "Resets", "Boots", "Uncertainty", "Notes"] {
            assert!(text.contains(&format!("### {title}\n")), "{title}");
        }
        let lines: Vec<&str> = text.lines().collect();
        let is_row = |line: &&str| line.starts_with('|');
        for table in lines.chunk_by(|one, other| is_row(one) == is_row(other)) {
            let widths: Vec<_> = table.iter().map(|line| line.chars().count()).collect();
            assert!(!is_row(&table[0]) || widths.iter().all(|&width| width == widths[0]));
        }
        assert!(
            lines
                .iter()
                .any(|line| line.contains("| squall ") && line.contains("0 of 25020"))
        );
    }

    #[test]
    fn events_that_never_came_are_counted() {
        let us = Summary {
            min: 1.0,
            median: 2500.0,
            max: 123_456.0,
        };
        assert_eq!(time(Some(us), 0), "2.50 (123) ms");
        assert_eq!(time(Some(us), 3), "2.50 (123) ms, never in 3");
        assert_eq!(time(None, 50), "never");
    }

    #[test]
    fn without_experiments_there_are_no_tables() {
        let mut campaign = synthetic::campaign();
        campaign.experiments.clear();
        assert!(!markdown(&campaign).contains('|'));
    }
}
