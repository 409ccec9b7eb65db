//! Ends a job: writes its reports, and keeps what is still needed of its journal and keys.

use squall_tool_base::Failure;

use super::say;
use crate::journal::Journal;
use crate::keys;
use crate::record::{Drive, Job, Outcome};
use crate::report;
use crate::show::OutputStyle;

pub struct JobEnd {
    /// Fails unless every drive was wiped as asked.
    pub result: Result<(), Failure>,
    /// Whether every drive has a final report on the disk.
    pub is_reported: bool,
}

/// Writes the reports, and keeps what is needed to resume or to verify later. If one step fails, the others are still
/// done. May be called again.
pub fn finish(journal: &Journal, style: OutputStyle) -> JobEnd {
    let job = journal.job().clone();
    let reported = report::write(journal, &job, style);
    let has_ended = |drive: &Drive| drive.outcome.is_some();
    let is_reported = reported.is_ok() && job.drives.iter().all(has_ended);
    // If the disk knows only an earlier state of the job, it is resumed from there, with the keys.
    let is_on_disk = reported.is_ok() || journal.save().is_ok();
    let mut ended = Ok(());
    for (number, drive) in job.drives.iter().enumerate() {
        if is_on_disk && !drive.is_resumable() {
            let keys = keys::path_for_report(&journal.report_path(number));
            let is_kept = job.plan.keep_key && job.plan.ends_with_key();
            ended = ended.and(keys::remove(&keys, is_kept));
        }
    }
    let is_over = !job.drives.iter().any(Drive::is_resumable);
    let kept = match reported {
        Ok(()) if is_over => ended.and(journal.remove()),
        Err(failure) if is_over => Err(to_be_written(journal, failure)),
        reported => reported.and(ended),
    };
    let unfinished = unfinished(journal, &job);
    let result = both(
        unfinished.map_or(Ok(()), |text| Err(Failure::Runtime(text))),
        kept,
    );
    if result.is_ok() {
        say(&format!("reports: {}", journal.directory().display()));
    }
    JobEnd {
        result,
        is_reported,
    }
}

/// Success if both are. The text of a failure has both reasons.
pub fn both(one: Result<(), Failure>, other: Result<(), Failure>) -> Result<(), Failure> {
    match (one, other) {
        (Err(one), Err(other)) => {
            let (one, other) = (one.into_text(), other.into_text());
            Err(Failure::Runtime(format!("{one}; {other}")))
        }
        (one, other) => one.and(other),
    }
}

/// The failure of reports that can be written later: the journal has all that they say.
fn to_be_written(journal: &Journal, failure: Failure) -> Failure {
    let (failure, journal) = (failure.into_text(), journal.path().display());
    Failure::Runtime(format!(
        "{failure}; mend that, and write it with: squall wipe --resume {journal}"
    ))
}

/// Why the run is not a success, and what to do; `None` if it is one.
fn unfinished(journal: &Journal, job: &Job) -> Option<String> {
    let is_done = |drive: &&Drive| drive.outcome.as_ref().is_some_and(Outcome::is_success);
    let all = job.drives.len();
    let left = all - job.drives.iter().filter(is_done).count();
    if left == 0 {
        return None;
    }
    let is_interrupted = |drive: &Drive| drive.outcome == Some(Outcome::Interrupted);
    let what = if job.drives.iter().any(is_interrupted) {
        format!("interrupted, {left} of {all} drives not finished")
    } else {
        format!("{left} of {all} drives not wiped as asked")
    };
    let advice = if job.drives.iter().any(Drive::is_resumable) {
        format!(
            "continue with: squall wipe --resume {}",
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

    /// A drive was interrupted, and its report can be written at first, and then cannot.
    #[test]
    fn a_lost_report_is_reported_with_unfinished_drives() {
        let mut job = fixture::job();
        job.drives = vec![job.drives[3].clone()];
        assert_eq!(job.drives[0].outcome, Some(Outcome::Interrupted));
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::create(directory.path(), job);
        let refusal = || {
            let ended = finish(&journal, OutputStyle::Json).result;
            ended.expect_err("it is not done").into_text()
        };
        let text = refusal();
        assert!(text.contains("--resume"), "{text}");
        assert!(!text.contains("standard output"), "{text}");

        let place = journal.report_path(0);
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        let text = refusal();
        assert!(text.contains("--resume"), "{text}");
        assert!(text.contains("the report is on standard output"), "{text}");
    }
}
