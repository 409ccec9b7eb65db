//! The last table: the outcome of each drive, what the run cost, and what to do next.

use squall_drives::list::NONE;
use squall_drives::{Kind, shown};
use squall_tool_base::columns::{columns, hanging, hide, lines, paragraph};
use squall_tool_base::text::in_a_line;
use squall_tool_base::units;

use crate::advice::Advice;
use crate::record::{Drive, Job, Outcome};
use crate::text;

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

/// What to do with a drive that did not succeed.
fn next(job: &Job, drive: &Drive) -> Option<String> {
    let advice = match drive.outcome.as_ref()? {
        Outcome::Verified | Outcome::Overwritten => return None,
        Outcome::Incomplete if drive.size_at_end.is_some() => {
            "its size changed meanwhile: nothing is known of what was added or cut off: wipe it again"
        }
        Outcome::Incomplete if drive.not_overwritten() > 0 && !has_cells(drive) => {
            "parts of it could not be overwritten: wipe the drive on which it lies, or destroy that"
        }
        Outcome::Incomplete if drive.not_overwritten() > 0 => {
            "parts of it could not be overwritten: destroy it, or have it erase itself (--purge)"
        }
        Outcome::Incomplete if drive.purge_failure().is_some() && faults(drive).is_none() => {
            "overwritten, but its own erase failed: try --purge again, or destroy it"
        }
        Outcome::Incomplete => {
            "overwritten, but parts of it could not be read back: verify it again, or destroy it"
        }
        Outcome::Differs if drive.wipe.is_some() => {
            "it does not hold what the wipe wrote: if somebody has used it since, wipe it again; if nobody has, do not \
             trust it"
        }
        Outcome::Differs => {
            "it does not hold what was written to it: do not trust it; wipe it again, and destroy \
             it if it differs again"
        }
        Outcome::Interrupted if job.is_report() => "verify it again",
        Outcome::Interrupted => "resume the job",
        Outcome::Vanished if job.is_report() => "attach it again and verify it",
        Outcome::Vanished => "attach it again and resume the job",
        Outcome::Dead { .. } if !has_cells(drive) => {
            "the drive on which it lies has died: destroy that"
        }
        Outcome::Dead { .. } => "it has died: destroy it",
        Outcome::Failed { reason } => {
            let target = shown(&drive.target.given);
            let reason = in_a_line(reason);
            // Reasons from the system begin with the path already.
            let its = reason.strip_prefix(&format!("{target}: "));
            let reason = its.unwrap_or(&reason);
            let then = match job.is_report() {
                true => "verify it again",
                false => "resume the job",
            };
            return Some(format!("{target}: {reason}: fix that, and {then}"));
        }
    };
    Some(format!("{}: {advice}", shown(&drive.target.given)))
}

/// Whether the target is a drive or a part of one, which may erase itself. A file and the like lie on one.
fn has_cells(drive: &Drive) -> bool {
    matches!(drive.target.kind, Kind::Disk | Kind::Partition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Extent, Pass, Verification};
    use crate::show::fixture;

    /// A file lies on a drive, and cannot be asked for anything.
    #[test]
    fn only_drives_are_advised_to_erase_themselves() {
        let job = fixture::job();
        let mut drive = job.drives[0].clone();
        drive.passes[0].offset = 0;
        for outcome in [
            Outcome::Incomplete,
            Outcome::Dead {
                reason: "it refused".into(),
            },
        ] {
            drive.outcome = Some(outcome.clone());
            for kind in [Kind::File, Kind::Loop, Kind::Mapped, Kind::Virtual] {
                drive.target.kind = kind;
                let advice = next(&job, &drive).expect("advice");
                assert!(advice.contains("the drive on which it lies"), "{advice}");
                assert!(!advice.contains("--purge"), "{advice}");
            }
            drive.target.kind = Kind::Disk;
            let advice = next(&job, &drive).expect("advice");
            assert!(!advice.contains("on which it lies"), "{advice}");
        }
    }

    /// After a wipe nobody else could have written; after a verification somebody may have.
    #[test]
    fn a_drive_that_differs_later_may_have_been_used() {
        let job = fixture::job();
        let mut drive = job.drives[0].clone();
        drive.outcome = Some(Outcome::Differs);
        let words = "if somebody has used it since, wipe it again";
        assert!(!next(&job, &drive).expect("advice").contains(words));
        let later = fixture::verification_of(&job, 0);
        drive.wipe.clone_from(&later.drives[0].wipe);
        assert!(next(&later, &drive).expect("advice").contains(words));
    }

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
