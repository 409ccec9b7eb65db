//! The last table: the outcome of each drive, what the run cost, and what to do next.

use squall_drives::list::NONE;
use squall_drives::shown;
use squall_tool_base::columns::{columns, hanging, hide, lines, paragraph};
use squall_tool_base::text::in_a_line;
use squall_tool_base::units;

use crate::record::{Drive, Job, Outcome};
use crate::text;
use crate::words::{Advice, next};

use super::row::{bytes_processed, errors};
use super::run::Totals;

/// The titles of columns, and whether they are numbers. A job that only verifies has compared instead.
fn columns_of(job: &Job) -> [(&'static str, bool); 8] {
    let done = match job.is_report() {
        true => "compared",
        false => "overwritten",
    };
    [
        ("target", false),
        ("serial", false),
        ("size", true),
        ("outcome", false),
        (done, true),
        ("errors", false),
        ("time", true),
        ("rate", true),
    ]
}

/// The table, the totals and the advice, for a terminal of this width.
pub fn table(job: &Job, totals: &Totals, width: Option<usize>) -> String {
    let sums = paragraph(&sums(totals), width);
    let mut text = format!("\n{}{sums}", drives(job, width));
    let next = job.drives.iter().filter_map(|drive| next(job, drive));
    let mut next = next.peekable();
    if next.peek().is_some() {
        text += "\nWhat to do next:\n";
        next.for_each(|line| text += &hanging(&format!("  {line}"), 4, width));
    }
    text + &flash(job, width)
}

/// Advice on all drives on flash: the texts, without repetitions, and then the commands to run.
fn flash(job: &Job, terminal: Option<usize>) -> String {
    let mut names = Vec::new();
    let (mut texts, mut commands) = (Vec::new(), Vec::new());
    for drive in &job.drives {
        let Some(advice) = Advice::for_drive(drive) else {
            continue;
        };
        names.push(shown(&drive.target.given));
        texts.push(advice.text);
        commands.extend(advice.commands);
    }
    if names.is_empty() {
        return String::new();
    }
    texts.dedup();
    // One command may have several namespaces erased.
    commands.dedup();
    let width = commands.iter().map(|(command, _)| command.len()).max();
    let width = width.unwrap_or(0);
    let title = format!("Flash ({}):", names.join(", "));
    let mut all = String::from("\n");
    for text in [title].iter().chain(&texts) {
        all += &paragraph(text, terminal);
    }
    for (command, what) in &commands {
        let command = in_a_line(command);
        let line = format!("  {command:width$}  # {what}");
        // A command stays in a line, to be copied.
        all += &match terminal {
            Some(terminal) if line.chars().count() > terminal => {
                hanging(&format!("  # {what}"), 4, Some(terminal)) + &format!("  {command}\n")
            }
            _ => line + "\n",
        };
    }
    all
}

/// The columns that a narrow terminal does without, in this order: rate, time, size, serial number, share.
const LESS_IMPORTANT: [usize; 5] = [7, 6, 2, 1, 4];

fn drives(job: &Job, width: Option<usize>) -> String {
    let mut table = columns(None);
    let columns = columns_of(job);
    table.set_header(columns.map(|(title, _)| title));
    table.add_rows(job.drives.iter().map(|drive| row(job, drive)));
    let mut text = lines(&mut table, 2, |column| columns[column].1);
    for column in LESS_IMPORTANT {
        let fits = |line: &str| width.is_none_or(|width| line.chars().count() <= width);
        if text.lines().all(fits) {
            break;
        }
        hide(&mut table, column);
        text = lines(&mut table, 2, |column| columns[column].1);
    }
    text
}

fn row(job: &Job, drive: &Drive) -> [String; 8] {
    let size = drive.whole();
    let verification = drive.verification.as_ref();
    let done = match job.is_report() {
        true => verification.map_or(0, |verification| verification.compared),
        false => size.saturating_sub(drive.not_overwritten()),
    };
    let seconds = seconds(drive);
    let rate = bytes_processed(drive) as f64 / seconds;
    let rate = (seconds >= 1e-3).then(|| units::rate(rate));
    let serial = drive.target.serial.as_deref().map(in_a_line);
    let outcome = drive.outcome.as_ref().map_or("under way", Outcome::word);
    [
        shown(&drive.target.given),
        serial.unwrap_or(NONE.into()),
        units::volume(size),
        outcome.into(),
        text::share(done, size),
        faults(drive).unwrap_or("none".into()),
        units::duration(seconds),
        rate.unwrap_or(NONE.into()),
    ]
}

/// Seconds that it took in all runs.
fn seconds(drive: &Drive) -> f64 {
    let passes = drive.passes.iter().map(|pass| pass.seconds);
    let found = drive.verifications().map(|found| found.seconds);
    passes.chain(found).sum()
}

fn faults(drive: &Drive) -> Option<String> {
    let pass = drive.passes.last();
    let extents = pass.map_or(&[][..], |pass| &pass.unwritten);
    let unwritten: u64 = extents.iter().map(|extent| extent.length).sum();
    let refused = unwritten.saturating_add(drive.unreadable_bytes());
    errors(refused, drive.differing_bytes())
}

fn sums(totals: &Totals) -> String {
    let mut parts = vec![format!(
        "this run: {} moved in {}",
        units::volume(totals.moved),
        units::duration(totals.seconds)
    )];
    parts.extend(totals.average().map(units::rate));
    let cpu = totals.cpu_per_gb();
    parts.extend(cpu.map(|cpu| format!("{} CPU seconds per GB", units::number(cpu))));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Extent, Outcome, Pass, Verification};
    use crate::show::fixture;

    /// A sector was unreadable after the first of two passes, and no erase of the drive's own was asked for.
    #[test]
    fn what_was_found_after_any_pass_counts() {
        let mut job = fixture::job();
        let mut drive = job.drives.remove(0);
        let found = drive.verification.clone().expect("a verification");
        let sector = Extent::new(0, 512);
        let first = Pass {
            verification: Some(Verification {
                unreadable: vec![sector],
                ..found
            }),
            ..drive.passes[0].clone()
        };
        drive.passes.insert(0, first);
        drive.outcome = Some(Outcome::Incomplete);
        assert_eq!(faults(&drive).as_deref(), Some("512 B refused"));
        let advice = next(&job, &drive).expect("advice");
        assert!(
            advice.contains("parts of it could not be read back"),
            "{advice}"
        );

        // The control: its own erase was asked for and failed, and nothing else.
        drive.passes.remove(0);
        drive.purge = Some(fixture::purge(Some("refused")));
        let advice = next(&job, &drive).expect("advice");
        assert!(advice.contains("its own erase failed"), "{advice}");
    }
}
