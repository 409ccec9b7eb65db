//! `squall verify` compares drives with what their reports say was written to them, and leaves reports itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use squall_drives::io::Device;
use squall_tool_base::in_child::Ended;
use squall_tool_base::{Failure, Inquiry, Interrupt};

use super::{as_refusal, new_job, protect_memory, say, supervised};
use crate::args::VerifyArguments;
use crate::drive::{PendingDrive, Worker};
use crate::journal::{self, Journal};
use crate::keys::{self, Keys};
use crate::recognise;
use crate::record::{Drive, FORMAT, Job, Outcome, Pass, Plan, Wipe};
use crate::report;
use crate::resources;
use crate::show::OutputStyle;
use crate::workers::Supervision;

/// What a report says about a drive that is to be verified.
struct ReportedDrive {
    /// Whom the drive belongs to.
    customer: Option<String>,
    plan: Plan,
    drive: Drive,
    /// `None` if it cannot be compared; then `drive` has the outcome.
    pending: Option<PendingDrive>,
}

impl ReportedDrive {
    /// Records `failure` as the reason why the drive is not compared, and returns it.
    fn skip(&mut self, failure: Failure, outcome: fn(String) -> Outcome) -> String {
        let why = failure.into_text();
        self.drive.note(format!("not compared: {why}"));
        self.drive.outcome = Some(outcome(why.clone()));
        why
    }
}

pub fn verify(options: &VerifyArguments) -> Result<(), Failure> {
    let style = OutputStyle::choose(options.json).map_err(as_refusal)?;
    let inquiry = Inquiry::watch()?;
    protect_memory();
    let directory = directory(options).map_err(as_refusal)?;
    let reported = reported(options).map_err(as_refusal)?;
    let found = reported.iter().filter(|one| one.pending.is_some());
    resources::check_memory(found.count()).map_err(as_refusal)?;
    let skipped = reported.iter().filter(|one| one.pending.is_none());
    for note in skipped.flat_map(|one| &one.drive.notes) {
        say(&note.text);
    }
    supervised(options.transfer.stall.is_some(), || {
        work(options, reported, &directory, style, &inquiry)
    })
}

/// Compares the `reported` drives, and writes reports to `directory`.
fn work(
    options: &VerifyArguments,
    reported: Vec<ReportedDrive>,
    directory: &Path,
    style: OutputStyle,
    inquiry: &Inquiry,
) -> Result<Ended, Failure> {
    // A child does not inherit memory locks.
    protect_memory();
    let interrupt = Interrupt::watch("the verification was not finished")?;
    let drives = reported.iter().map(|one| one.drive.clone()).collect();
    let mut job = new_job(reported[0].plan.clone(), drives);
    job.operator = options.operator.clone();
    let journal = Arc::new(Journal::unsaved(directory, job));
    let reported = reported.into_iter();
    let reported = reported.map(|one| ((one.plan, one.customer), one.pending));
    let (ours, pending): (Vec<_>, Vec<_>) = reported.unzip();
    let pending = pending.into_iter().flatten().collect();
    let supervision = Supervision {
        work: Worker::verify,
        journal: &journal,
        transfer: &options.transfer,
        interval: Duration::MAX,
        interrupt: &interrupt,
        inquiry,
        style,
        keyboard: None,
        arrivals: None,
    };
    let ended = supervision.run(pending);
    let job = journal.job().clone();
    let mut reported = Ok(());
    for (number, (plan, customer)) in ours.into_iter().enumerate() {
        let report = Job {
            plan,
            customer,
            drives: vec![job.drives[number].clone()],
            ..job.clone()
        };
        let path = journal.report_path(number);
        reported = reported.and(report::write_one(&path, &report, style));
    }
    if reported.is_ok() {
        say(&format!("reports: {}", directory.display()));
    }
    Ok(Ended {
        result: ended.shown.and(reported).and(check_outcomes(&job)),
        is_stuck: !ended.stuck.is_empty(),
    })
}

/// Where reports go: as asked, or beside the first one that is verified. Fails if nothing can be written
/// there, before hours are spent on it.
fn directory(options: &VerifyArguments) -> Result<PathBuf, Failure> {
    let directory = match &options.report {
        Some(directory) => {
            journal::make_directory(directory)?;
            directory
        }
        None => journal::directory(&options.reports[0]),
    };
    let writable = journal::check_directory(directory);
    writable.map_err(|failure| {
        let why = failure.into_text();
        Failure::Runtime(format!(
            "{why}: nothing was compared: choose a directory for reports with --report DIR"
        ))
    })?;
    Ok(directory.to_owned())
}

/// The drives in the reports. Those that are not attached or cannot be opened are skipped. Fails if that is all of them.
fn reported(options: &VerifyArguments) -> Result<Vec<ReportedDrive>, Failure> {
    let mut found: Vec<ReportedDrive> = Vec::new();
    let mut why_not = None;
    for path in &options.reports {
        let job = journal::read(path, FORMAT)?;
        let plan = Plan {
            verify: options.verify,
            verify_each: false,
            ..job.plan.clone()
        };
        for (index, drive) in job.drives.iter().enumerate() {
            check_wipe(path, drive, &plan)?;
            let number = found.len();
            found.push(ReportedDrive {
                customer: job.customer.clone(),
                plan: plan.clone(),
                drive: to_verify(&job, drive),
                pending: None,
            });
            let target = match recognise::find(&drive.target) {
                Ok(target) => target,
                Err(failure) => {
                    why_not = Some(found[number].skip(failure, |_| Outcome::Vanished));
                    continue;
                }
            };
            let its_number = &target.identity.number;
            let others = found.iter().filter_map(|one| one.pending.as_ref());
            let mut others = others.map(|other| &other.device.target().identity);
            if let Some(other) = others.find(|other| other.number == *its_number) {
                return Err(Failure::Usage(format!(
                    "{}: it is about {}, which another of these reports is about too: name one",
                    path.display(),
                    other.path.display()
                )));
            }
            found[number].drive.target.number.clone_from(its_number);
            let has_key = plan.ends_with_key();
            let keys = has_key.then(|| key(path, &job, index)).transpose()?;
            match Device::open_to_read(target, options.transfer.direct) {
                Ok(device) => {
                    found[number].pending = Some(PendingDrive {
                        number,
                        plan: plan.clone(),
                        device,
                        keys,
                    });
                }
                Err(failure) => {
                    let failed = |reason| Outcome::Failed { reason };
                    why_not = Some(found[number].skip(failure, failed));
                }
            }
        }
    }
    match why_not {
        Some(_) if found.iter().any(|one| one.pending.is_some()) => Ok(found),
        Some(why) => Err(Failure::Usage(why)),
        None if found.is_empty() => Err(Failure::Usage("no drive in these reports".into())),
        None => Ok(found),
    }
}

/// Fails unless the report at `path` is about a drive whose passes are finished.
fn check_wipe(path: &Path, drive: &Drive, plan: &Plan) -> Result<(), Failure> {
    let path = path.display();
    if let Some(wipe) = &drive.wipe {
        return Err(Failure::Usage(format!(
            "{path}: the report of a verification: name that of the wipe, which begins with {}",
            wipe.job
        )));
    }
    let is_finished = drive.passes.len() == plan.passes.len()
        && drive.passes.iter().all(|pass| pass.ended.is_some());
    match is_finished {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "{path}: its passes are not finished: resume the job first"
        ))),
    }
}

/// The record of `drive` of `job` before it is verified. Its own erase says nothing about the bytes that are
/// compared, and what was found after its passes is in its own report.
fn to_verify(job: &Job, drive: &Drive) -> Drive {
    let passes = drive.passes.iter().map(|pass| Pass {
        verification: None,
        ..pass.clone()
    });
    Drive {
        passes: passes.collect(),
        asset: drive.asset.clone(),
        wipe: Some(Wipe::from_job(job)),
        ..Drive::new(drive.target.clone())
    }
}

/// Loads the key of the last pass of a drive, the only one that is kept.
fn key(path: &Path, job: &Job, drive: usize) -> Result<Keys, Failure> {
    let report = match job.drives.len() {
        1 => path.to_owned(),
        // The report of a whole job lies beside those of its drives.
        _ => journal::report_path(journal::directory(path), job, drive),
    };
    let place = keys::path_for_report(&report);
    if place.exists() {
        return Keys::load(place, 1);
    }
    let path = path.display();
    Err(Failure::Usage(if job.plan.keep_key {
        format!("{path}: its key is missing: put it at {}", place.display())
    } else {
        format!(
            "{path}: its key was destroyed when the wipe ended, so nothing can be compared: wipe \
             with --keep-key to verify later"
        )
    }))
}

fn check_outcomes(job: &Job) -> Result<(), Failure> {
    let all = job.drives.len();
    let count = |is: fn(&Outcome) -> bool| {
        let outcomes = job.drives.iter().filter_map(|drive| drive.outcome.as_ref());
        outcomes.filter(|outcome| is(outcome)).count()
    };
    let differing = count(|outcome| matches!(outcome, Outcome::Differs | Outcome::Incomplete));
    let good = count(Outcome::is_success);
    match (good == all, differing) {
        (true, _) => Ok(()),
        (false, 0) => Err(Failure::Runtime(format!(
            "{} of {all} drives were not compared completely",
            all - good
        ))),
        (false, _) => Err(Failure::Runtime(format!(
            "{differing} of {all} drives are not as they were written"
        ))),
    }
}
