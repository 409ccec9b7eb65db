//! The end of a job: its reports, and of journal and keys what is still needed.

use squall_command::Failure;

use super::say;
use crate::journal::Journal;
use crate::keys;
use crate::record::{Drive, Job, Outcome};
use crate::reports;
use crate::show::Manner;

/// Leaves reports, and what is needed to resume or to verify later; fails unless every drive was
/// wiped as asked. Whatever fails, the rest is done; what was done before is done again.
pub fn finish(journal: &Journal, manner: Manner) -> Result<(), Failure> {
    let job = journal.job().clone();
    let reported = reports::write(journal, &job, manner);
    let mut ended = Ok(());
    for (number, drive) in job.drives.iter().enumerate() {
        if !drive.is_resumable() {
            let keys = keys::beside(&journal.report_path(number));
            ended = ended.and(keys::end(&keys, job.plan.keep_key));
        }
    }
    if !job.drives.iter().any(Drive::is_resumable) {
        ended = ended.and(journal.remove());
    }
    if let Some(text) = unfinished(journal, &job) {
        return Err(Failure::Runtime(text));
    }
    reported.and(ended)?;
    say(&format!("reports: {}", journal.directory().display()));
    Ok(())
}

/// Why the run is no success, and what to do; nothing if it is one.
fn unfinished(journal: &Journal, job: &Job) -> Option<String> {
    let is_done = |drive: &&Drive| drive.outcome.as_ref().is_some_and(Outcome::is_success);
    let all = job.drives.len();
    let left = all - job.drives.iter().filter(is_done).count();
    if left == 0 {
        return None;
    }
    let is_interrupted = |drive: &Drive| drive.outcome == Some(Outcome::Interrupted);
    let what = match job.drives.iter().any(is_interrupted) {
        true => format!("interrupted, {left} of {all} drives not done"),
        false => format!("{left} of {all} drives not wiped as asked"),
    };
    let advice = match job.drives.iter().any(Drive::is_resumable) {
        true => format!(
            "go on with: squall wipe --resume {}",
            journal.path().display()
        ),
        false => format!("see the reports in {}", journal.directory().display()),
    };
    Some(format!("{what}: {advice}"))
}
