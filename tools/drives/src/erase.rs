//! A drive's own erase, which also reaches the spare cells of flash.
//!
//! A drive is told to sanitize itself, if it can: an NVM subsystem, a SCSI drive, or an ATA drive behind a
//! translation. Otherwise an NVMe namespace is erased by Format NVM, in the format that it has, and
//! everything else by the kernel's secure discard, which eMMC and some virtual drives have. Nothing is
//! requested that could erase anything outside the targets.

mod ata;
mod discard;
mod method;
#[cfg(test)]
mod models;
mod nvme;
pub mod sanitize;
mod scsi;
#[cfg(test)]
mod tests;

use std::fs::File;

use rustix::fs::OFlags;

use crate::io::Device;
use crate::{Kind, Target};
use method::NO_DISCARD;
use sanitize::{Sanitizer, State};

pub use method::{CommandSet, EraseChoice, EraseMethod, SanitizeSupport, SupportedErases};
pub use sanitize::Action;

/// How `target`, open as `file`, can erase itself. Nothing but `named` targets may be erased. Asking changes nothing.
fn supported(target: &Target, file: &File, named: &[Target]) -> SupportedErases {
    let other = match target.namespace() {
        Some(_) => nvme::Format::from_file(file).map(|_| EraseMethod::NvmeFormat),
        None if target.identity.kind == Kind::File => Err("it is a file".into()),
        None if discard::is_supported(file) => Ok(EraseMethod::SecureDiscard),
        None => Err(NO_DISCARD.into()),
    };
    let sanitize = sanitizer(target, file, named);
    let sanitize = sanitize.map(|(set, drive)| SanitizeSupport::new(set, &*drive));
    SupportedErases {
        sanitize,
        other,
        flash: target.identity.flash,
    }
}

/// The same for all of `devices`, which are the named targets.
pub fn supported_by_all(devices: &[Device]) -> Vec<SupportedErases> {
    let named: Vec<_> = devices.iter().map(|it| it.target().clone()).collect();
    let supported = |it: &Device| supported(it.target(), it.file(), &named);
    devices.iter().map(supported).collect()
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
        let subsystem = nvme::Subsystem::new(file, named);
        return Some((CommandSet::Nvme, Box::new(subsystem)));
    }
    if target.identity.kind != Kind::Disk || !target.takes_scsi_commands() {
        return None;
    }
    match ata::Disk::behind(file) {
        Some(disk) => Some((CommandSet::Ata, Box::new(disk))),
        // What is on USB and no ATA drive is not asked for what only large drives have.
        None if target.bus().as_deref() == Some("usb") => None,
        None => Some((CommandSet::Scsi, Box::new(scsi::LogicalUnit(file)))),
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

/// What `target` is doing, if it is a drive that tells that.
pub fn state(target: &Target) -> Option<State> {
    let file = target.open_to_ask(OFlags::empty())?;
    let (_, drive) = sanitizer(target, &file, &[])?;
    Some(drive.status().ok()?.state)
}

/// Has `device` erase itself by anything but a sanitize operation, and waits for the end. Nothing can stop it early.
pub fn run(device: &Device, means: EraseMethod) -> Result<(), String> {
    let file = device.file();
    match means {
        EraseMethod::NvmeFormat => nvme::Format::from_file(file)?.run(file),
        EraseMethod::SecureDiscard => discard::run(file, device.target().identity.size),
        // Found under way in a run that cannot tell any more that this is the same drive.
        _ => Err("the record does not tell which operation to start: begin a new job".into()),
    }
}

/// The sanitize commands of `device`, for an operation that was chosen before. Nothing but `named` targets may be
/// erased.
pub fn chosen<'d>(device: &'d Device, named: &[Target]) -> Result<Box<dyn Sanitizer + 'd>, String> {
    let found = sanitizer(device.target(), device.file(), named).map(|(_, drive)| drive);
    found.ok_or_else(|| "it is no longer a drive that sanitizes itself".into())
}
