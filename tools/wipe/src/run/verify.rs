//! `squall verify` compares drives with what their reports say was written to them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use squall_drives::io::{Access, Device};
use squall_tools::{Failure, Interrupt};

use super::{as_refusal, new_job, protect_memory};
use crate::args::{TransferArguments, VerifyArguments};
use crate::journal::{self, Journal};
use crate::keys::{self, Keys};
use crate::record::{Drive, FORMAT, Job, Outcome, Plan, Scope};
use crate::recorded_drive;
use crate::show::OutputStyle;
use crate::workers::{PendingDrive, Workers};

/// Runs `squall verify`.
pub fn verify(options: &VerifyArguments) -> Result<(), Failure> {
    if options.verify == Scope::None {
        return Err(Failure::Usage(
            "--verify none would compare nothing: use --verify full or sample".into(),
        ));
    }
    let style = OutputStyle::choose(options.shown.json).map_err(as_refusal)?;
    protect_memory();
    let (drives, pending) = reported(options).map_err(as_refusal)?;
    let interrupt = Interrupt::watch("the verification was not finished")?;
    let plan = pending[0].plan;
    let journal = Arc::new(Journal::in_memory(new_job(plan, drives)));
    let workers = Workers {
        journal: &journal,
        transfer: &options.transfer,
        interval: Duration::MAX,
        interrupt: &interrupt,
        style,
    };
    let shown = workers.run(pending, |worker| worker.verify());
    shown.and(check_outcomes(&journal.job()))
}

/// The drives in the reports.
fn reported(options: &VerifyArguments) -> Result<(Vec<Drive>, Vec<PendingDrive>), Failure> {
    let (mut drives, mut pending) = (Vec::new(), Vec::new());
    for path in &options.reports {
        let job = journal::read(path, FORMAT)?;
        let plan = Plan {
            verify: options.verify,
            ..job.plan
        };
        for drive in job.drives {
            let number = drives.len();
            pending.push(pending_drive(
                path,
                number,
                &drive,
                plan,
                &options.transfer,
            )?);
            drives.push(Drive {
                verification: None,
                outcome: None,
                // The erase says nothing about the bytes that are compared.
                purge: None,
                ..drive
            });
        }
    }
    if pending.is_empty() {
        Err(Failure::Usage("no drive in these reports".into()))
    } else {
        Ok((drives, pending))
    }
}

fn pending_drive(
    path: &Path,
    number: usize,
    drive: &Drive,
    plan: Plan,
    transfer: &TransferArguments,
) -> Result<PendingDrive, Failure> {
    let is_finished = drive.passes.len() == plan.passes as usize
        && drive.passes.iter().all(|pass| pass.ended.is_some());
    if !is_finished {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "{path}: its passes are not finished: resume the job first"
        )));
    }
    let keys = plan
        .method
        .has_keys()
        .then(|| key(path, plan))
        .transpose()?;
    let target = recorded_drive::find(&drive.target)?;
    let device = Device::open(&target, Access::Read, transfer.direct)?;
    Ok(PendingDrive {
        number,
        plan,
        target,
        device,
        keys,
    })
}

/// Loads the key of the last pass, the only one that is kept.
fn key(path: &Path, plan: Plan) -> Result<Keys, Failure> {
    let place = keys::path_for_report(path);
    if place.exists() {
        return Keys::load(place, 1);
    }
    let path = path.display();
    Err(Failure::Usage(if plan.keep_key {
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
