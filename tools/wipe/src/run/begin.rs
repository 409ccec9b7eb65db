//! Begins a new job: checks the options, and finds, checks, confirms and opens the targets.

use std::path::PathBuf;

use squall_drives::{Kind, Target, confirm, guards};
use squall_tools::failure::at;
use squall_tools::{Failure, output};

use super::{PURPOSE, Prepared, new_job, open_all, protect_memory, say, show_plan, watch};
use crate::args::WipeArguments;
use crate::choice::{self, Choice};
use crate::journal::{self, Journal};
use crate::keys::{self, Keys};
use crate::record::{Drive, Means, Method, Plan, Purge, Scope};
use crate::workers::pending;
use crate::{filesystem, purge, show};

/// Prepares a new job; `None` for a dry run.
pub fn prepare(options: &WipeArguments) -> Result<Option<Prepared>, Failure> {
    let plan = plan_of(options)?;
    let choice = options.choice.all.then(|| chosen(options)).transpose()?;
    let targets = match &choice {
        Some(choice) => choice.targets.clone(),
        None => named(&options.targets)?,
    };
    guards::check(&targets, &PURPOSE)?;
    if options.dry_run && options.purge {
        // Only a drive that is open for writing can be asked whether it can erase itself.
        let devices = open_all(&targets, &options.transfer)?;
        purge::choose(true, &options.consent, &targets, &devices)?;
    }
    if !show_plan(options, &targets, choice.as_ref(), &plan)? {
        return Ok(None);
    }
    let directory = match &options.report {
        Some(directory) => directory.clone(),
        None => journal::default_directory()?,
    };
    journal::make_directory(&directory)?;
    match &choice {
        Some(choice) if options.choice.watch => watch::confirm(choice, options)?,
        _ => confirm::confirm(&targets, &options.consent, &PURPOSE)?,
    }
    protect_memory();
    let devices = open_all(&targets, &options.transfer)?;
    guards::check(&targets, &PURPOSE)?;
    let purges = match options.choice.all && !options.purge {
        // There is one question for all drives, and it was asked.
        true => vec![None; targets.len()],
        false => purge::choose(options.purge, &options.consent, &targets, &devices)?,
    };
    let drives = targets.iter().zip(purges);
    let drives = drives
        .map(|(target, means)| new_drive(target, means))
        .collect();
    let journal = Journal::create(&directory, new_job(plan, drives));
    if filesystem::is_in_memory(&directory) {
        let directory = directory.display();
        say(&format!(
            "note: {directory} is in memory: after a power cut the job cannot be resumed"
        ));
    }
    let keys = draw_keys(&journal, plan, targets.len())?;
    if let Err(error) = journal.save() {
        keys::destroy(keys);
        return Err(at(journal.path())(error));
    }
    let pending_drives = pending(plan, 0.., targets, devices, keys);
    Ok(Some((journal, pending_drives)))
}

fn named(paths: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    paths.iter().map(|path| Target::find(path)).collect()
}

/// The drives of `--all`. If they are not as the user expects, shows what was found, and fails.
fn chosen(options: &WipeArguments) -> Result<Choice, Failure> {
    let choice = choice::choose(&options.choice, &options.consent)?;
    if options.shown.json {
        output::print(&choice.event()?)?;
    }
    if let Err(failure) = choice.check(&options.choice) {
        say(choice.text().trim_end());
        return Err(failure);
    }
    Ok(choice)
}

/// The plan that the options ask for. Fails if they contradict each other.
fn plan_of(options: &WipeArguments) -> Result<Plan, Failure> {
    if options.method == Method::Clear && options.verify == Scope::None {
        return Err(Failure::Usage(
            "--method clear: Clear of NIST SP 800-88 requires a verification: use --verify full or sample"
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

pub(super) fn new_drive(target: &Target, purge: Option<Means>) -> Drive {
    let mut drive = Drive::new(target.identity.clone());
    drive.purge = purge.map(Purge::asked);
    drive.hidden = target.hidden();
    if let Some(hidden) = drive.hidden.and_then(show::text::hidden) {
        drive.note(format!(
            "it hides {hidden} from this machine, which is not overwritten: remove the area, for example with \
             `hdparm -N` or `hdparm --dco-restore`, and wipe the drive again"
        ));
    }
    let path = &target.identity.path;
    if let Some(name) =
        filesystem::copy_on_write_name(path).filter(|_| target.identity.kind == Kind::File)
    {
        drive.note(format!(
            "the file is on {name}, which does not overwrite in place: the old contents may still \
             be there; wipe the whole device"
        ));
    }
    drive
}

/// Draws the keys of one drive, if its passes have any.
pub(super) fn draw_key(
    journal: &Journal,
    plan: Plan,
    drive: usize,
) -> Result<Option<Keys>, Failure> {
    let path = keys::path_for_report(&journal.report_path(drive));
    let has_keys = plan.method.has_keys();
    has_keys.then(|| Keys::draw(path, plan.passes)).transpose()
}

/// Draws the keys of all drives. If some cannot be saved, all are destroyed.
fn draw_keys(journal: &Journal, plan: Plan, drives: usize) -> Result<Vec<Option<Keys>>, Failure> {
    let mut drawn = Vec::new();
    for drive in 0..drives {
        match draw_key(journal, plan, drive) {
            Ok(keys) => drawn.push(keys),
            Err(failure) => {
                keys::destroy(drawn);
                return Err(failure);
            }
        }
    }
    Ok(drawn)
}
