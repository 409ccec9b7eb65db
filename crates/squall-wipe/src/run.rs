//! A run of `squall wipe` or `squall verify`, from the command line to the reports.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rustix::mm::MlockAllFlags;
use rustix::process::DumpableBehavior;
use squall::Engine;
use squall_command::{Failure, Interrupt, output};

use crate::args::{TransferArguments, VerifyArguments, WipeArguments};
use crate::crew::{Crew, Part};
use crate::io::{Access, Device};
use crate::journal::{self, Journal};
use crate::keys::{self, Keys};
use crate::record::{ContentKind, Drive, FORMAT, Job, Kind, Method, Outcome, Plan, Scope, Tool};
use crate::show::Manner;
use crate::target::Target;
use crate::{confirm, filesystem, guards, plan, reports};

/// Runs `squall wipe`.
pub fn wipe(options: &WipeArguments) -> Result<(), Failure> {
    let prepared = match &options.resume {
        Some(path) => resumed(options, path)?,
        None => begun(options)?,
    };
    let Some((journal, parts)) = prepared else {
        return Ok(());
    };
    let interrupt = Interrupt::watch("the drives are not done")?;
    let crew = Crew {
        journal: &journal,
        transfer: &options.transfer,
        interval: Duration::from_secs(options.checkpoint.get().into()),
        interrupt: &interrupt,
        manner: Manner::choose(options.shown.json),
    };
    let shown = crew.run(&parts, |worker| worker.wipe());
    let finished = finish(&journal, parts);
    shown.and(finished)
}

/// Runs `squall verify`.
pub fn verify(options: &VerifyArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::watch("the verification did not end")?;
    protect_memory();
    let mut drives = Vec::new();
    let mut parts = Vec::new();
    for path in &options.reports {
        let job = journal::read(path)?;
        for drive in job.drives {
            let plan = Plan {
                verify: options.verify,
                ..job.plan
            };
            let number = drives.len();
            parts.push(to_verify(path, number, &drive, plan, &options.transfer)?);
            drives.push(Drive {
                verification: None,
                outcome: None,
                ..drive
            });
        }
    }
    let plan = parts.first().map(|part| part.plan);
    let plan = plan.ok_or_else(|| Failure::Usage("no drive in this report".into()))?;
    let journal = Journal::in_memory(new_job(plan, drives));
    let crew = Crew {
        journal: &journal,
        transfer: &options.transfer,
        interval: Duration::MAX,
        interrupt: &interrupt,
        manner: Manner::choose(options.shown.json),
    };
    let shown = crew.run(&parts, |worker| worker.verify());
    shown.and(judge_verified(&journal.job()))
}

/// What is to be done anew; nothing if only a plan was asked for.
fn begun(options: &WipeArguments) -> Result<Option<(Journal, Vec<Part>)>, Failure> {
    let plan = asked(options)?;
    let find = |path: &PathBuf| Target::find(path);
    let targets: Vec<Target> = options.targets.iter().map(find).collect::<Result<_, _>>()?;
    guards::check(&targets)?;
    if !say_plan(options, &targets, &plan)? {
        return Ok(None);
    }
    confirm::confirm(&targets, &options.consent, false)?;
    protect_memory();
    let devices = open_all(&targets, &options.transfer)?;
    let directory = match &options.report {
        Some(directory) => directory.clone(),
        None => journal::usual_directory()?,
    };
    journal::make_directory(&directory)?;
    let drives = targets.iter().map(new_drive).collect();
    let journal = Journal::create(&directory, new_job(plan, drives))?;
    if filesystem::is_in_memory(&directory) {
        let directory = directory.display();
        say(&format!(
            "note: {directory} is in memory: a power cut takes what is needed to resume"
        ));
    }
    let keys = match draw_keys(&journal, plan, targets.len()) {
        Ok(keys) => keys,
        Err(failure) => {
            journal.remove()?;
            return Err(failure);
        }
    };
    let parts = targets.into_iter().zip(devices).zip(keys).enumerate();
    let parts = parts.map(|(number, ((target, device), keys))| Part {
        number,
        plan,
        target,
        device,
        keys,
    });
    let parts = parts.collect();
    Ok(Some((journal, parts)))
}

/// What is left to do of the job whose journal is at `path`.
fn resumed(options: &WipeArguments, path: &Path) -> Result<Option<(Journal, Vec<Part>)>, Failure> {
    let journal = Journal::open(path)?;
    let job = journal.job().clone();
    let numbers: Vec<usize> = (0..job.drives.len())
        .filter(|number| job.drives[*number].is_resumable())
        .collect();
    if numbers.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: every drive of it has ended: there is nothing to resume",
            path.display()
        )));
    }
    let find = |number: &usize| Target::find_again(&job.drives[*number].target);
    let targets: Vec<Target> = numbers.iter().map(find).collect::<Result<_, _>>()?;
    guards::check(&targets)?;
    if !say_plan(options, &targets, &job.plan)? {
        return Ok(None);
    }
    confirm::confirm(&targets, &options.consent, true)?;
    protect_memory();
    let devices = open_all(&targets, &options.transfer)?;
    let mut parts = Vec::new();
    for ((number, target), device) in numbers.into_iter().zip(targets).zip(devices) {
        journal.update(number, |drive| {
            drive.outcome = None;
            drive.target.path = target.identity.path.clone();
            drive.target.number = target.identity.number.clone();
        });
        let keys = match job.plan.method.content() {
            ContentKind::Keystream => {
                let path = keys::beside(&journal.report_path(number));
                Some(Keys::load(path)?)
            }
            ContentKind::Zeros => None,
        };
        parts.push(Part {
            number,
            plan: job.plan,
            target,
            device,
            keys,
        });
    }
    Ok(Some((journal, parts)))
}

/// What is asked for, if it makes sense.
fn asked(options: &WipeArguments) -> Result<Plan, Failure> {
    if options.method == Method::Clear && options.verify == Scope::None {
        return Err(Failure::Usage(
            "--method clear: Clear of NIST SP 800-88 is verified: use --verify full or sample"
                .into(),
        ));
    }
    Ok(Plan {
        method: options.method,
        passes: options.passes,
        verify: options.verify,
        keep_key: options.keep_key,
    })
}

/// Says what will be done; whether it is to be done.
fn say_plan(options: &WipeArguments, targets: &[Target], plan: &Plan) -> Result<bool, Failure> {
    if options.dry_run && options.shown.json {
        output::print(&plan::json(targets, plan))?;
    } else if options.dry_run {
        output::print(&(plan::text(targets, plan) + "dry run: nothing was written\n"))?;
    } else {
        say(plan::text(targets, plan).trim_end());
    }
    Ok(!options.dry_run)
}

/// Opens all of `targets` before anything is written to one of them.
fn open_all(targets: &[Target], transfer: &TransferArguments) -> Result<Vec<Device>, Failure> {
    let open = |target| Device::open(target, Access::Write, transfer.direct);
    targets.iter().map(open).collect()
}

fn to_verify(
    path: &Path,
    number: usize,
    drive: &Drive,
    plan: Plan,
    transfer: &TransferArguments,
) -> Result<Part, Failure> {
    let wrong = |what: &str| Failure::Runtime(format!("{}: {what}", path.display()));
    let is_finished = drive.passes.len() == plan.passes as usize
        && drive.passes.iter().all(|pass| pass.ended.is_some());
    if !is_finished {
        return Err(wrong("its passes did not end: resume the job first"));
    }
    let keys = match plan.method.content() {
        ContentKind::Zeros => None,
        ContentKind::Keystream => {
            let keys = keys::beside(path);
            if !keys.exists() {
                return Err(wrong(
                    "its key was destroyed when the wipe ended, so nothing can be compared: \
                     wipe with --keep-key to verify later",
                ));
            }
            Some(Keys::load(keys)?)
        }
    };
    let target = Target::find_again(&drive.target)?;
    let device = Device::open(&target, Access::Read, transfer.direct)?;
    Ok(Part {
        number,
        plan,
        target,
        device,
        keys,
    })
}

fn new_drive(target: &Target) -> Drive {
    let mut drive = Drive::new(target.identity.clone());
    let path = &target.identity.path;
    if let Some(name) = filesystem::copies(path).filter(|_| target.identity.kind == Kind::File) {
        drive.note(format!(
            "the file is on {name}, which writes elsewhere than where the old contents are: they \
             may still be there; wipe the whole device"
        ));
    }
    drive
}

fn new_job(plan: Plan, drives: Vec<Drive>) -> Job {
    let machine = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Job {
        format: FORMAT.into(),
        tool: Tool {
            name: "squall".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            engine: Engine::best_aes().name().into(),
            kernel: text(machine.release()),
            host: text(machine.nodename()),
        },
        id: format!("{now}-{}", std::process::id()),
        plan,
        drives,
    }
}

/// Draws the keys of all drives; if one cannot be kept, none is.
fn draw_keys(journal: &Journal, plan: Plan, drives: usize) -> Result<Vec<Option<Keys>>, Failure> {
    let mut drawn = Vec::new();
    for drive in 0..drives {
        let path = keys::beside(&journal.report_path(drive));
        let keys = match plan.method.content() {
            ContentKind::Zeros => Ok(None),
            ContentKind::Keystream => Keys::draw(path, plan.passes).map(Some),
        };
        match keys {
            Ok(keys) => drawn.push(keys),
            Err(failure) => {
                for keys in drawn.into_iter().flatten() {
                    keys.destroy()?;
                }
                return Err(failure);
            }
        }
    }
    Ok(drawn)
}

/// Leaves reports, and of journal and keys what is needed to resume or to verify later.
fn finish(journal: &Journal, parts: Vec<Part>) -> Result<(), Failure> {
    let numbers = parts.iter().map(|part| part.number);
    let reported = reports::write(journal, numbers);
    for part in parts {
        let is_over = journal.update(part.number, |drive| !drive.is_resumable());
        match part.keys {
            Some(keys) if is_over && part.plan.keep_key => keys.keep_last()?,
            Some(keys) if is_over => keys.destroy()?,
            _ => {}
        }
    }
    let job = journal.job().clone();
    if !job.drives.iter().any(Drive::is_resumable) {
        journal.remove()?;
    }
    reported?;
    match unfinished(journal, &job) {
        Some(text) => Err(Failure::Runtime(text)),
        None => {
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

fn judge_verified(job: &Job) -> Result<(), Failure> {
    let outcomes = job.drives.iter().filter_map(|drive| drive.outcome.as_ref());
    let bad = outcomes.filter(|outcome| !outcome.is_success()).count();
    match bad {
        0 => Ok(()),
        _ => Err(Failure::Runtime(format!(
            "{bad} of {} drives are not as they were written",
            job.drives.len()
        ))),
    }
}

/// Keeps keys out of cores, and out of swap as far as the limits allow.
fn protect_memory() {
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let all = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    let _ = rustix::mm::mlockall(all);
}

/// Says a line or more to the user, besides the output.
fn say(text: &str) {
    // Nobody to tell if standard error is closed.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
}
