//! The measurement as text for a terminal: the machine, the ranking, what was left out, and the lines
//! to copy, which are never wrapped.

mod figures;
mod recommendation;

use squall_tools::text::in_a_line;
use squall_tools::units;

use super::phrases;
use crate::model::{Bench, LeftOut, Measured};
use crate::verdict::Verdict;
use squall_tools::columns::{columns, lines, paragraph};

/// The whole report. Only lines to copy and long names are wider than `width`; `None` wraps nothing.
pub fn text(bench: &Bench, width: Option<usize>) -> String {
    let mut text = String::new();
    machine(&mut text, bench, width);
    raw(&mut text, bench, width);
    ranking(&mut text, bench, width);
    variants(&mut text, bench, width);
    authenticated(&mut text, bench, width);
    left_out(&mut text, &bench.left_out, width);
    failures(&mut text, bench, width);
    recommendation::write(&mut text, bench, width);
    text
}

fn machine(text: &mut String, bench: &Bench, width: Option<usize>) {
    warnings(text, bench, width);
    let machine = &bench.machine;
    let place = format!(
        "Linux {}, squall {}; {}, {} used, sectors of {} bytes; {}",
        machine.kernel,
        machine.squall,
        phrases::backing(bench),
        units::length(bench.backing.bytes),
        bench.backing.sector,
        phrases::rounds(bench),
    );
    text.push_str(&paragraph(&machine.cpu, width));
    text.push_str(&paragraph(&place, width));
}

/// Adds warnings, which come before all figures.
fn warnings(text: &mut String, bench: &Bench, width: Option<usize>) {
    let emulated = bench
        .machine
        .is_emulated
        .then_some(("EMULATED", phrases::EMULATED));
    let incomplete = (!bench.is_complete).then_some(("INCOMPLETE", phrases::INCOMPLETE));
    for (word, sentence) in [emulated, incomplete].into_iter().flatten() {
        text.push_str(&paragraph(&format!("{word}: {sentence}"), width));
    }
}

fn raw(text: &mut String, bench: &Bench, width: Option<usize>) {
    let mut table = columns(width);
    for (workload, figure) in bench.workloads.iter().zip(&bench.raw) {
        let rate = &figure.rate;
        let quartiles = format!("{} to {}", units::rate(rate.low), units::rate(rate.high));
        table.add_row([
            in_a_line(&workload.title),
            units::rate(rate.median),
            quartiles,
        ]);
    }
    heading(
        text,
        "The device without encryption: medians, quartiles",
        width,
    );
    text.push_str(&lines(&mut table, 1, |column| column > 0));
}

fn ranking(text: &mut String, bench: &Bench, width: Option<usize>) {
    if bench.ranking.is_empty() {
        return;
    }
    heading(
        text,
        "Ranking, with sectors of 512 bytes and work queues",
        width,
    );
    let second = |measured: &Measured| match measured.verdict {
        Verdict::Secure => String::new(),
        verdict => phrases::verdict(verdict).into(),
    };
    text.push_str(&figures::rates(bench, &bench.ranking, &second, width));
    text.push_str(&paragraph(
        "MB/s, the median; below it percent of the device without encryption in the same round, \
         ± half the distance of the quartiles. Score: the geometric mean of these percentages.",
        width,
    ));
    for sentence in bench.ranking.iter().filter_map(phrases::stands_for) {
        text.push_str(&paragraph(&format!("{sentence}."), width));
    }
    costs(text, bench, &bench.ranking, &second, width);
}

/// Adds the costs of what is `measured`.
fn costs(
    text: &mut String,
    bench: &Bench,
    measured: &[Measured],
    second: &dyn Fn(&Measured) -> String,
    width: Option<usize>,
) {
    heading(text, phrases::COSTS, width);
    text.push_str(&figures::costs(bench, measured, second, width));
}

fn variants(text: &mut String, bench: &Bench, width: Option<usize>) {
    if bench.variants.is_empty() {
        return;
    }
    heading(text, "The best with other sectors and flags", width);
    let second = |measured: &Measured| phrases::short_options(&measured.options);
    text.push_str(&figures::rates(bench, &bench.variants, &second, width));
    if bench.variants.iter().any(|it| it.options.high_priority) {
        text.push_str(&paragraph(phrases::PRIORITY, width));
    }
    costs(text, bench, &bench.variants, &second, width);
}

fn authenticated(text: &mut String, bench: &Bench, width: Option<usize>) {
    if bench.authenticated.is_empty() {
        return;
    }
    heading(
        text,
        "Authenticated, over dm-integrity, with sectors of 4096 bytes",
        width,
    );
    let second = |measured: &Measured| {
        let journal = phrases::journal(&measured.options);
        match measured.verdict {
            Verdict::Secure => journal.to_owned(),
            verdict => format!("{journal}\n{}", phrases::verdict(verdict)),
        }
    };
    text.push_str(&figures::rates(bench, &bench.authenticated, &second, width));
    for note in phrases::AUTHENTICATED {
        text.push_str(&paragraph(&format!("- {note}"), width));
    }
    for reason in phrases::reasons(&bench.authenticated) {
        text.push_str(&paragraph(&format!("- {reason}"), width));
    }
    costs(text, bench, &bench.authenticated, &second, width);
}

fn left_out(text: &mut String, left_out: &[LeftOut], width: Option<usize>) {
    if left_out.is_empty() {
        return;
    }
    let mut table = columns(width);
    for group in left_out {
        let reason = &group.reason;
        let why = format!("{} ({})", reason.reason, reason.source);
        let algorithms = group.algorithms.join(", ");
        table.add_row([
            group.count.to_string(),
            reason.rule.to_owned(),
            in_a_line(&why) + "\n" + &in_a_line(&algorithms),
        ]);
    }
    heading(
        text,
        "Left out: specifications that the kernel accepts, by the rule against them",
        width,
    );
    text.push_str(&lines(&mut table, 1, |column| column == 0));
}

fn failures(text: &mut String, bench: &Bench, width: Option<usize>) {
    if !bench.failures.is_empty() {
        text.push('\n');
    }
    for failed in &bench.failures {
        let line = format!("FAILED: {}: {}", failed.name, failed.reason);
        text.push_str(&paragraph(&line, width));
    }
}

/// Adds the heading of a section.
fn heading(text: &mut String, heading: &str, width: Option<usize>) {
    text.push('\n');
    text.push_str(&paragraph(heading, width));
}
