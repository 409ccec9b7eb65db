//! How a source is measured, for `--explain`.

use crate::report::published;
use crate::sources::{Entry, RunsIn};

pub fn explain(entry: &Entry) -> String {
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
    for figure in published::FIGURES
        .iter()
        .filter(|figure| figure.source == entry.name)
    {
        let document = figure.document;
        text.push_str(&format!(
            "\nPublished: {} ({}, {})",
            figure.label, document.title, document.year
        ));
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
