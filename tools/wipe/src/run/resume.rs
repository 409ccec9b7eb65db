//! Resumes a job that was interrupted.

use std::path::Path;

use squall_drives::confirm::Consent;
use squall_drives::{Checked, Target};
use squall_tool_base::Failure;

use super::finish::finish;
use super::{PreparedJob, protect_memory, say, show_plan, then};
use crate::args::WipeArguments;
use crate::drive::pending;
use crate::journal::Journal;
use crate::keys::{self, Keys};
use crate::record::{Drive, Outcome, Purge};
use crate::show::OutputStyle;
use crate::{PURPOSE, purge, recognise, resources};

/// Prepares the unfinished drives of the job whose journal is at `path`; `None` for a dry run, or if
/// all drives are finished.
///
/// Drives that are not attached are skipped. Fails if none is attached.
pub fn prepare(
    options: &WipeArguments,
    path: &Path,
    style: OutputStyle,
) -> Result<Option<PreparedJob>, Failure> {
    let journal = Journal::open(path)?;
    let plan = journal.job().plan.clone();
    let left = unfinished(&journal);
    if left.is_empty() {
        // The job was killed after its last drive had ended.
        finish(&journal, style).result?;
        if let Some(then) = options.then {
            say(&format!(
                "{then}: not done, because no drive was left to wipe"
            ));
        }
        return Ok(None);
    }
    let (numbers, targets) = find_attached(&journal, &left)?;
    let consent = consent_for_resumed(&options.consent, &journal.job().drives, &numbers);
    let checked = Checked::new(targets, PURPOSE)?;
    let targets = checked.targets();
    resources::check(targets)?;
    then::check(options.then, targets, journal.directory())?;
    if show_plan(options, &consent, None, targets, &plan)?.is_none() {
        return Ok(None);
    }
    let confirmed = checked.confirm(&consent)?;
    protect_memory();
    let keys = numbers.iter().map(|number| keys_of(&journal, *number));
    let keys: Vec<Option<Keys>> = keys.collect::<Result<_, _>>()?;
    let devices = confirmed.open(purge::access, options.transfer.direct)?;
    let pending_drives = pending(&plan, numbers, devices, keys);
    let mut are_known = Vec::new();
    for it in &pending_drives {
        let drive = journal.job().drives[it.number].clone();
        recognise::check_contents(&drive, &it.device, it.keys.as_ref())?;
        are_known.push(recognise::is_one_that_erased_itself(&drive, &it.device)?);
    }
    for (it, is_known) in pending_drives.iter().zip(are_known) {
        journal.update(it.number, |drive| {
            reopen(drive, it.device.target(), is_known)
        });
    }
    Ok(Some((journal, pending_drives, None)))
}

fn unfinished(journal: &Journal) -> Vec<usize> {
    let drives = &journal.job().drives;
    let is_left = |number: &usize| drives[*number].is_resumable();
    (0..drives.len()).filter(is_left).collect()
}

/// The drives that are attached, under whatever path.
fn find_attached(journal: &Journal, left: &[usize]) -> Result<(Vec<usize>, Vec<Target>), Failure> {
    let mut found = (Vec::new(), Vec::new());
    let mut missing = None;
    for number in left {
        let identity = journal.update(*number, |drive| drive.target.clone());
        match recognise::find(&identity) {
            Ok(target) => {
                found.0.push(*number);
                found.1.push(target);
            }
            Err(failure) => {
                let text = failure.into_text();
                say(&format!("skipped for now: {text}"));
                journal.update(*number, |drive| drive.outcome = Some(Outcome::Vanished));
                missing = Some(text);
            }
        }
    }
    match (found.0.is_empty(), missing) {
        (true, Some(text)) => Err(Failure::Runtime(text)),
        _ => Ok(found),
    }
}

/// `consent` without the serial numbers of drives of the job that are not resumed now, so that the numbers of all its drives
/// may be given again.
fn consent_for_resumed(consent: &Consent, drives: &[Drive], resumed: &[usize]) -> Consent {
    let has = |drive: &Drive, serial: &String| {
        let target = &drive.target;
        target.serial.as_ref() == Some(serial) || target.wwid.as_ref() == Some(serial)
    };
    let mut consent = consent.clone();
    consent.serial.retain(|serial| {
        let mut all = drives.iter().enumerate();
        let number = all.position(|(_, drive)| has(drive, serial));
        number.is_none_or(|number| resumed.contains(&number))
    });
    consent
}

fn keys_of(journal: &Journal, number: usize) -> Result<Option<Keys>, Failure> {
    let path = keys::path_for_report(&journal.report_path(number));
    let plan = &journal.job().plan;
    let has_keys = plan.has_keys();
    has_keys.then(|| Keys::load(path, plan.count())).transpose()
}

/// Marks the drive as not ended, and records its path and number, which may be new. Unless it `is_known` to have erased
/// itself, or holds what was written after that, it is to do so again.
fn reopen(drive: &mut Drive, target: &Target, is_known: bool) {
    (drive.outcome, drive.level) = (None, None);
    drive.target.path = target.identity.path.clone();
    drive.target.number = target.identity.number.clone();
    drive.target.storage = target.identity.storage;
    let holds_nothing = drive.passes.iter().all(|pass| pass.offset == 0);
    if let Some(purge) = drive.purge.as_mut().filter(|_| !is_known && holds_nothing) {
        *purge = Purge::asked(purge.means);
        drive.passes.clear();
        let text =
            "its own erase begins anew: nothing shows that this drive is the one that had begun it";
        drive.note(text.into());
    }
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;
    use crate::show::fixture;

    #[test]
    fn a_drive_that_is_not_known_erases_itself_again_if_nothing_was_written() {
        let target = Target::find(&Lab::new().image("image", 4096)).expect("a target");
        let done = fixture::sanitized();
        let asked = Purge::asked(done.means);
        for (offset, is_known, expected) in [
            (0, true, &done),
            (0, false, &asked),
            (4096, true, &done),
            (4096, false, &done),
        ] {
            let mut drive = fixture::job().drives[0].clone();
            drive.passes.truncate(1);
            drive.passes[0].offset = offset;
            drive.purge = Some(done.clone());
            reopen(&mut drive, &target, is_known);
            assert_eq!(drive.purge.as_ref(), Some(expected));
            assert_eq!(drive.passes.is_empty(), *expected == asked);
        }
    }
}
