//! A drive's own erase, which also reaches the cells that flash keeps in reserve.
//!
//! An NVMe namespace is erased by Format NVM, in the format that it has (NVM Express Base
//! Specification; NIST SP 800-88 Rev. 1 lists this as Purge in table A-8). Everything else is
//! erased by the kernel's secure discard, which eMMC and some virtual drives have. Nothing is
//! requested that could erase anything outside the target.

mod discard;
mod nvme;
mod offer;
#[cfg(test)]
mod tests;

use std::fs::File;

use rustix::fs::{Mode, OFlags};
use squall_drives::confirm::Consent;
use squall_drives::io::Device;
use squall_drives::{Kind, Target, shown};
use squall_tools::Failure;

use crate::record::Means;

/// Chooses how each of `targets`, which are open as `devices`, erases itself, if at all. All of
/// them do if that was `asked` for on the command line; else those for which the user agrees now.
pub fn choose(
    asked: bool,
    consent: &Consent,
    targets: &[Target],
    devices: &[Device],
) -> Result<Vec<Option<Means>>, Failure> {
    if !asked && consent.yes {
        return Ok(vec![None; targets.len()]);
    }
    let opened = targets.iter().zip(devices);
    let found = opened.map(|(target, device)| (target, means(target, device.file())));
    if asked {
        return found
            .map(|(target, means)| means.map(Some).map_err(|why| refused(target, &why)))
            .collect();
    }
    let offers: Vec<_> = found
        .map(|(target, means)| {
            let is_flash = target.identity.flash == Some(true);
            (target, means.ok().filter(|_| is_flash))
        })
        .collect();
    offer::choose(&offers)
}

/// How `target`, open for writing as `file`, can erase itself, or why it cannot. Asking changes
/// nothing.
fn means(target: &Target, file: &File) -> Result<Means, String> {
    match target.namespace() {
        Some(_) => nvme::Format::of(file).map(|_| Means::NvmeFormat),
        None if target.identity.kind == Kind::File => Err("it is a file".into()),
        None if discard::is_supported(file) => Ok(Means::SecureDiscard),
        None => Err("it has no secure discard that the kernel knows of".into()),
    }
}

/// The expected result of [`means`], without opening `target` for writing, which would make other
/// programs probe it again. `None` if it is no NVMe namespace or cannot be asked.
pub fn expected_means(target: &Target) -> Option<Result<Means, String>> {
    target.namespace()?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(&target.identity.path, flags, Mode::empty()).ok()?;
    let file = File::from(file);
    target.confirm(&file).ok()?;
    Some(means(target, &file))
}

/// Has `target`, open as `file`, erase itself, and waits for the end. Nothing can stop it early.
pub fn purge(target: &Target, file: &File, means: Means) -> Result<(), String> {
    match means {
        Means::NvmeFormat => nvme::Format::of(file)?.run(file),
        Means::SecureDiscard => discard::run(file, target.identity.size),
    }
}

fn refused(target: &Target, why: &str) -> Failure {
    Failure::Usage(format!(
        "{}: it cannot erase itself: {why}: nothing was written: leave out --purge, or this target",
        shown(&target.identity.given)
    ))
}
