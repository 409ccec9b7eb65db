//! The end of a job: its reports, and of journal and keys what is still needed.

use squall_tools::Failure;

use super::say;
use crate::journal::Journal;
use crate::keys;
use crate::record::{Drive, Job, Outcome};
use crate::reports;
use crate::show::OutputStyle;

/// Leaves reports, and what is needed to resume or to verify later; fails unless every drive was
/// wiped as asked. Whatever fails, the rest is done; what was done before is done again.
pub fn finish(journal: &Journal, style: OutputStyle) -> Result<(), Failure> {
    let job = journal.job().clone();
    let reported = reports::write(journal, &job, style);
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
    let kept = reported.and(ended);
    match (unfinished(journal, &job), kept) {
        (Some(text), Ok(())) => Err(Failure::Runtime(text)),
        (Some(text), Err(other)) => {
            let other = other.into_text();
            Err(Failure::Runtime(format!("{text}; {other}")))
        }
        (None, Err(failure)) => Err(failure),
        (None, Ok(())) => {
            say(&format!("reports: {}", journal.directory().display()));
            Ok(())
        }
    }
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
    let what = if job.drives.iter().any(is_interrupted) {
        format!("interrupted, {left} of {all} drives not done")
    } else {
        format!("{left} of {all} drives not wiped as asked")
    };
    let advice = if job.drives.iter().any(Drive::is_resumable) {
        format!(
            "go on with: squall wipe --resume {}",
            journal.path().display()
        )
    } else {
        format!("see the reports in {}", journal.directory().display())
    };
    Some(format!("{what}: {advice}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::show::fixture;

    /// Of a drive that was interrupted, whose report may or may not be written.
    #[test]
    fn a_report_that_is_lost_is_told_with_unfinished_drives() {
        let mut job = fixture::job();
        job.drives = vec![job.drives[3].clone()];
        assert_eq!(job.drives[0].outcome, Some(Outcome::Interrupted));
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::create(directory.path(), job);
        let told = || {
            let ended = finish(&journal, OutputStyle::Json);
            ended.expect_err("it is not done").into_text()
        };
        let text = told();
        assert!(text.contains("--resume"), "{text}");
        assert!(!text.contains("standard output"), "{text}");

        let place = journal.report_path(0);
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        let text = told();
        assert!(text.contains("--resume"), "{text}");
        assert!(text.contains("the report is on standard output"), "{text}");
    }
}
