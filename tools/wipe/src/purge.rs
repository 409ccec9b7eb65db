//! Whether and how drives are to erase themselves before they are overwritten (`--purge`): by the command line, or by the
//! user's answers.

use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::fs::OFlags;
use squall_drives::confirm::{Consent, Dialog, describe, not_confirmed};
use squall_drives::erase::sanitize::{State, percent};
use squall_drives::erase::{self, EraseChoice, EraseMethod, SupportedErases};
use squall_drives::io::{Access, Buffer, Device};
use squall_drives::{Target, shown};
use squall_tools::{Failure, output};

use crate::args::TransferArguments;
use crate::record::{OwnErase, Purge};

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
            erase::supported(target, device.file(), targets).choose(how),
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
    offer(&offers).map(|means| purges(targets, &means))
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

/// Asks about each of `offers`, which are confirmed targets with the way in which they could erase
/// themselves. Returns that way where the user agrees.
fn offer(offers: &[(&Target, Option<EraseMethod>)]) -> Result<Vec<Option<EraseMethod>>, Failure> {
    offer_on(&io::stdin(), io::stderr(), output::error_width(), offers)
}

/// Like [`offer`], with questions to `questions`, which may be so wide, and answers from `answers`.
fn offer_on(
    answers: &impl AsFd,
    questions: impl Write,
    width: Option<usize>,
    offers: &[(&Target, Option<EraseMethod>)],
) -> Result<Vec<Option<EraseMethod>>, Failure> {
    let mut dialog = Dialog::new(answers, questions, width)?;
    let choose = |(target, means): &(&Target, Option<EraseMethod>)| match means {
        Some(means) if is_chosen(&mut dialog, target, *means)? => Ok(Some(*means)),
        _ => Ok(None),
    };
    offers.iter().map(choose).collect()
}

fn is_chosen<Q: Write>(
    dialog: &mut Dialog<Q>,
    target: &Target,
    means: EraseMethod,
) -> Result<bool, Failure> {
    let outside = match means.reaches_all_namespaces() {
        true => "the targets (it reaches all namespaces of this drive)",
        false => "this target",
    };
    let question = format!(
        "{}\nIt is flash, and can erase itself first, by {}. That reaches spare cells, which overwriting does not, and nothing outside {outside}. It cannot be interrupted; {UNTRIED}.\n\
         Type \"erase\" for both, or press Enter to only overwrite: ",
        describe(target),
        means.name()
    );
    match dialog.answer(&question)?.as_deref() {
        Some(b"erase") => Ok(true),
        Some(b"") => Ok(false),
        _ => Err(not_confirmed()),
    }
}

/// Like [`ask`], for each of `targets`, which may all be erased.
pub fn ask_all(targets: &[Target]) -> Vec<Option<SupportedErases>> {
    let ask = |target| erase::ask(target, targets);
    targets.iter().map(ask).collect()
}

/// What each of `targets` says of its own erase, for its record.
pub fn own_erases(targets: &[Target], erases: &[Option<SupportedErases>]) -> Vec<Option<OwnErase>> {
    let path = |target: &Target| target.identity.path.clone();
    let own_erase = |(target, erase): (&Target, &Option<SupportedErases>)| {
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
    targets.iter().zip(erases).map(own_erase).collect()
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
fn serves_reads(target: &Target) -> bool {
    why_unreadable(target).is_none()
}

/// Opens all of `targets` before anything is written to one of them.
pub fn open_all(targets: &[Target], transfer: &TransferArguments) -> Result<Vec<Device>, Failure> {
    let open = |target| {
        // The kernel retries a read for minutes while a drive sanitizes itself.
        let access = match serves_reads(target) {
            true => Access::Write,
            false => Access::WriteLater,
        };
        Device::open(target, access, transfer.direct)
    };
    targets.iter().map(open).collect()
}

/// Why `target` serves no reads and writes, and what to do; `None` if no sanitize operation is the reason.
pub fn why_unreadable(target: &Target) -> Option<String> {
    match erase::state(target)? {
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

fn is_readable(target: &Target) -> bool {
    let Some(file) = target.open_to_ask(OFlags::DIRECT) else {
        return false;
    };
    let mut sector = Buffer::new(target.identity.sector as usize);
    rustix::io::pread(&file, &mut sector[..], 0).is_ok()
}

fn refused(target: &Target, why: &str) -> Failure {
    Failure::Usage(format!(
        "{}: it cannot erase itself: {why}: nothing was written: leave out --purge, or this target",
        shown(&target.identity.given)
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use squall_drives::io::Direct;
    use squall_testing::loops::Lab;
    use squall_tools::retry::retry;

    use super::*;

    /// A target that looks like a drive at /dev/sdb.
    fn drive(file: &Path, serial: &str) -> Target {
        let mut target = Target::find(file).expect("a target");
        target.identity.given = "/dev/sdb".into();
        target.identity.serial = Some(serial.into());
        target
    }

    /// The user is asked about each drive that can erase itself, and about no other.
    #[test]
    fn only_drives_that_can_erase_themselves_are_asked_about() {
        let lab = Lab::new();
        let image = lab.image("image", 1 << 20);
        let drives = ["WD-1", "WD-2", "WD-3"].map(|serial| drive(&image, serial));
        let means = [
            Some(EraseMethod::NvmeFormat),
            None,
            Some(EraseMethod::SecureDiscard),
        ];
        let offers: Vec<_> = drives.iter().zip(means).collect();
        let offered = |answers: &str| {
            let (ours, mut users) = io::pipe().unwrap();
            users.write_all(answers.as_bytes()).unwrap();
            drop(users);
            let mut seen = Vec::new();
            let chosen = offer_on(&ours, &mut seen, None, &offers);
            (String::from_utf8(seen).unwrap(), chosen)
        };
        let (seen, chosen) = offered("erase\n\n");
        assert_eq!(chosen.unwrap(), [Some(EraseMethod::NvmeFormat), None, None]);
        for words in [
            "serial number WD-1,",
            "by Format NVM with User Data Erase.",
            "nothing outside this target",
            "It cannot be interrupted",
            "tried on emulated drives only",
            "serial number WD-3,",
            "by secure discard.",
        ] {
            assert!(seen.contains(words), "{words:?} is not in: {seen}");
        }
        assert!(!seen.contains("WD-2"), "{seen}");
        for wrong in ["yes\n\n", "Erase\n\n", "erase\nerase", ""] {
            let (_, chosen) = offered(wrong);
            let text = chosen.expect_err("no confirmation").into_text();
            assert!(
                text.contains("not confirmed: nothing was written"),
                "{text}"
            );
        }
    }

    /// How `targets` are to erase themselves, with --yes.
    fn chosen(
        asked: Option<EraseChoice>,
        targets: &[Target],
    ) -> Result<Vec<Option<Purge>>, Failure> {
        // A child that another test has just forked has this process's devices open, too.
        let open = |target| {
            let attempt = || Device::open(target, Access::Write, Direct::Auto);
            retry(Duration::from_secs(600), |_| true, attempt)
        };
        let devices: Vec<_> = targets.iter().map(|target| open(target).unwrap()).collect();
        let consent = Consent {
            yes: true,
            ..Consent::default()
        };
        choose(asked, &consent, targets, &devices)
    }

    #[test]
    fn what_cannot_erase_itself_is_refused() {
        let lab = Lab::new();
        let targets = [Target::find(&lab.image("image", 1 << 20)).expect("a target")];
        assert!(erase::ask(&targets[0], &targets).is_none());
        assert_eq!(chosen(None, &targets).unwrap(), [None]);
        let text = chosen(Some(EraseChoice::Auto), &targets)
            .expect_err("no erase")
            .into_text();
        assert!(
            text.contains("it cannot erase itself: it is a file: nothing was written"),
            "{text}"
        );
    }
}
