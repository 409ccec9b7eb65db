//! A drive's own erase, which also reaches the spare cells of flash.
//!
//! A drive is told to sanitize itself, if it can: an NVM subsystem, a SCSI drive, or an ATA drive behind a
//! translation. Otherwise an NVMe namespace is erased by Format NVM, in the format that it has, and
//! everything else by the kernel's secure discard, which eMMC and some virtual drives have. Nothing is
//! requested that could erase anything outside the targets.

mod discard;
mod how;
mod nvme;
mod offer;
pub mod operation;
pub mod sanitize;
mod scsi;
#[cfg(test)]
mod tests;

use std::fs::File;

use rustix::fs::OFlags;
use squall_drives::confirm::Consent;
use squall_drives::io::{Buffer, Device};
use squall_drives::{Kind, Target, shown};
use squall_tools::Failure;

use crate::record::{CommandSet, EraseMethod, OwnErase, Purge};
use how::{NO_DISCARD, Sanitizing};
use sanitize::{Sanitizer, State, percent};

pub use how::{EraseChoice, SupportedErases};

/// How far squall's commands for a drive's own erase were tried, as a clause.
pub const UNTRIED: &str = "squall's commands for that were tried on emulated drives only, and no real drive has run them yet";

/// Fails unless the user agrees to commands that are [`UNTRIED`], if drives are to erase themselves.
pub fn check_agreed(asked: Option<EraseChoice>, agrees: bool) -> Result<(), Failure> {
    match (asked, agrees) {
        (Some(_), false) => Err(Failure::Usage(format!(
            "--purge: {UNTRIED}: nothing was written: add --untried-on-hardware if yours may be the first, or leave out \
             --purge"
        ))),
        (None, true) => Err(Failure::Usage(
            "--untried-on-hardware goes with --purge: leave it out: nothing was written".into(),
        )),
        _ => Ok(()),
    }
}

/// Chooses how each of `targets`, which are open as `devices`, erases itself, if at all. All of
/// them do if that was `asked` for on the command line; else those for which the user agrees now.
pub fn choose(
    asked: Option<EraseChoice>,
    consent: &Consent,
    targets: &[Target],
    devices: &[Device],
) -> Result<Vec<Option<Purge>>, Failure> {
    if asked.is_none() && consent.yes {
        return Ok(vec![None; targets.len()]);
    }
    let opened = targets.iter().zip(devices);
    let how = asked.unwrap_or(EraseChoice::Auto);
    let found = opened.map(|(target, device)| {
        (
            target,
            supported(target, device.file(), targets).choose(how),
        )
    });
    if asked.is_some() {
        let means: Result<Vec<_>, _> = found
            .map(|(target, means)| means.map(Some).map_err(|why| refused(target, &why)))
            .collect();
        return means.map(|means| purges(targets, &means));
    }
    let offers: Vec<_> = found
        .map(|(target, means)| {
            let is_flash = target.identity.flash == Some(true);
            (target, means.ok().filter(|_| is_flash))
        })
        .collect();
    offer::choose(&offers).map(|means| purges(targets, &means))
}

/// The purges of `targets` by these `means`. What erases all namespaces of a subsystem is done for one of
/// them, and the others wait for it, even those whose own erase was not asked for.
fn purges(targets: &[Target], means: &[Option<EraseMethod>]) -> Vec<Option<Purge>> {
    let leader = |target: &Target| {
        let subsystem = target.subsystem()?;
        let mut all = targets.iter().zip(means);
        all.position(|(other, means)| {
            means.is_some_and(EraseMethod::reaches_all_namespaces)
                && other.subsystem().as_ref() == Some(&subsystem)
        })
    };
    let purge = |(number, target): (usize, &Target)| match leader(target) {
        Some(leader) if leader != number => {
            let mut purge = Purge::asked(means[leader]?);
            purge.with = Some(leader);
            Some(purge)
        }
        _ => means[number].map(Purge::asked),
    };
    targets.iter().enumerate().map(purge).collect()
}

/// How `target`, open as `file`, can erase itself. Nothing but `named` targets may be erased. Asking changes nothing.
fn supported(target: &Target, file: &File, named: &[Target]) -> SupportedErases {
    let other = match target.namespace() {
        Some(_) => nvme::Format::of(file).map(|_| EraseMethod::NvmeFormat),
        None if target.identity.kind == Kind::File => Err("it is a file".into()),
        None if discard::is_supported(file) => Ok(EraseMethod::SecureDiscard),
        None => Err(NO_DISCARD.into()),
    };
    let sanitize = sanitizer(target, file, named);
    let sanitize = sanitize.map(|(set, drive)| Sanitizing::of(set, &*drive));
    SupportedErases {
        sanitize,
        other,
        flash: target.identity.flash,
    }
}

/// The sanitize commands of `target`, open as `file`; `None` if it is not a whole drive.
fn sanitizer<'f>(
    target: &Target,
    file: &'f File,
    named: &[Target],
) -> Option<(CommandSet, Box<dyn Sanitizer + 'f>)> {
    if target.namespace().is_some() {
        let subsystem = target.subsystem();
        let named = named.iter().filter(|other| other.subsystem() == subsystem);
        let named = named.filter_map(Target::namespace);
        let named = named.filter_map(|number| number.try_into().ok()).collect();
        let subsystem = nvme::sanitize::Subsystem::new(file, named);
        return Some((CommandSet::Nvme, Box::new(subsystem)));
    }
    if target.identity.kind != Kind::Disk || !target.takes_scsi_commands() {
        return None;
    }
    match scsi::ata::Disk::behind(file) {
        Some(disk) => Some((CommandSet::Ata, Box::new(disk))),
        // What is on USB and no ATA drive is not asked for what only large drives have.
        None if target.bus().as_deref() == Some("usb") => None,
        None => Some((
            CommandSet::Scsi,
            Box::new(scsi::sanitize::LogicalUnit(file)),
        )),
    }
}

/// How `target` can erase itself, as far as it tells without being opened for writing, which would make other programs
/// probe it again. `None` if it is neither an NVMe namespace nor a SCSI drive, or cannot be asked. Nothing but `named`
/// targets may be erased.
pub fn ask(target: &Target, named: &[Target]) -> Option<SupportedErases> {
    let is_drive = target.identity.kind == Kind::Disk && target.takes_scsi_commands();
    if target.namespace().is_none() && !is_drive {
        return None;
    }
    let file = target.open_to_ask(OFlags::empty())?;
    Some(supported(target, &file, named))
}

/// Like [`ask`], for each of `targets`, which may all be erased.
pub fn ask_all(targets: &[Target]) -> Vec<Option<SupportedErases>> {
    let ask = |target| ask(target, targets);
    targets.iter().map(ask).collect()
}

/// What each of `targets` has told of its own erase, for its record.
pub fn told(targets: &[Target], erases: &[Option<SupportedErases>]) -> Vec<Option<OwnErase>> {
    let path = |target: &Target| target.identity.path.clone();
    let told = |(target, erase): (&Target, &Option<SupportedErases>)| {
        let method = erase.as_ref()?.choose(EraseChoice::Auto);
        Some(match method {
            Err(reason) => OwnErase::Unsupported { reason },
            Ok(means) if means.reaches_all_namespaces() => {
                let subsystem = target.subsystem();
                let of_it = targets.iter().filter(|it| it.subsystem() == subsystem);
                OwnErase::Supported {
                    means,
                    targets: of_it.map(path).collect(),
                }
            }
            Ok(means) => OwnErase::Supported {
                means,
                targets: vec![path(target)],
            },
        })
    };
    targets.iter().zip(erases).map(told).collect()
}

/// Fails if one of `targets`, which are not to erase themselves, is at that or has failed in it: then it
/// serves no reads and writes.
pub fn check_idle(targets: &[Target]) -> Result<(), Failure> {
    let found = |target| Some((target, why_unreadable(target)?));
    match targets.iter().find_map(found) {
        None => Ok(()),
        Some((target, why)) => Err(Failure::Usage(format!(
            "{}: {why}: nothing was written",
            shown(&target.identity.given)
        ))),
    }
}

/// Whether `target` serves reads: it is neither sanitizing itself nor has it failed in that.
pub fn serves_reads(target: &Target) -> bool {
    why_unreadable(target).is_none()
}

/// Why `target` serves no reads and writes, and what to do; `None` if no sanitize operation is the reason.
pub fn why_unreadable(target: &Target) -> Option<String> {
    let file = target.open_to_ask(OFlags::empty())?;
    match state_of(target, &file)? {
        State::Running { progress, .. } => Some(format!(
            "it is sanitizing itself, and is at {}: use --purge to wait for the end, or try again later",
            percent(progress)
        )),
        // An NVMe drive reports the failure even after the state has been left.
        State::Failed { .. } if !is_readable(target) => Some(
            "its last sanitize operation failed, and until one succeeds it serves no reads and writes: use \
             --purge to start one"
                .into(),
        ),
        _ => None,
    }
}

/// What `target`, open as `file`, is doing, if it is a drive that tells that.
fn state_of(target: &Target, file: &File) -> Option<State> {
    let (_, drive) = sanitizer(target, file, &[])?;
    Some(drive.status().ok()?.state)
}

fn is_readable(target: &Target) -> bool {
    let Some(file) = target.open_to_ask(OFlags::DIRECT) else {
        return false;
    };
    let mut sector = Buffer::new(target.identity.sector as usize);
    rustix::io::pread(&file, &mut sector[..], 0).is_ok()
}

/// Has `target`, open as `file`, erase itself by anything but a sanitize operation, and waits for the end.
/// Nothing can stop it early.
pub fn purge(target: &Target, file: &File, means: EraseMethod) -> Result<(), String> {
    match means {
        EraseMethod::NvmeFormat => nvme::Format::of(file)?.run(file),
        EraseMethod::SecureDiscard => discard::run(file, target.identity.size),
        // Found under way in a run that cannot tell any more that this is the same drive.
        _ => Err("the record does not tell which operation to start: begin a new job".into()),
    }
}

/// The sanitize commands of `target`, open as `file`, for an operation that was chosen before.
/// Nothing but `named` targets may be erased.
pub fn chosen<'f>(
    target: &Target,
    file: &'f File,
    named: &[Target],
) -> Result<Box<dyn Sanitizer + 'f>, String> {
    let found = sanitizer(target, file, named).map(|(_, drive)| drive);
    found.ok_or_else(|| "it is no longer a drive that sanitizes itself".into())
}

fn refused(target: &Target, why: &str) -> Failure {
    Failure::Usage(format!(
        "{}: it cannot erase itself: {why}: nothing was written: leave out --purge, or this target",
        shown(&target.identity.given)
    ))
}
