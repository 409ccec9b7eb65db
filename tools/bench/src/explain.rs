//! What is measured of a source, and how, for `--explain`.

use crate::report::published;
use crate::sources::{Entry, RunsIn};

pub fn explain(entry: &Entry) -> String {
    let fitness = if entry.secure {
        "fit for secrets: neither a forked child nor a clone that the kernel is told of repeats it"
    } else {
        "not for secrets by itself"
    };
    let caveat = match entry.caveat {
        "" => String::new(),
        caveat => format!(" ({caveat})"),
    };
    let there = match entry.runs_in {
        RunsIn::ThisProcess => match (entry.open)() {
            Ok(_) => "it is here".to_owned(),
            Err(reason) => format!("it is not here: {reason}"),
        },
        RunsIn::OwnProcess(_) | RunsIn::GoProgram(_) => {
            "it would run in a process of its own".to_owned()
        }
        RunsIn::OtherProgram => {
            "it is a program of its own, in workloads that start programs".to_owned()
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
How: first 192 KiB of it are looked at; a source of zeros or of repeated blocks is disqualified. Then
all sources are measured in turns, in rounds whose order changes: of requests and numbers a batch of a
millisecond each, elsewhere a single operation. A figure is the median of the rounds, with quartiles; a
ratio is the median of the ratios of single rounds. Loops are compiled for each source, buffers pass
through an optimisation barrier, and a batch that leaves a buffer of 16 bytes or more as it was is an
error. The thread that measures is bound to one CPU where that is allowed, but for threads, pipes and
Go. A look at the clock is shown in the report, and subtracted from first bytes.";
