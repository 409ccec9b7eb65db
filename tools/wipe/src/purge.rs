//! Whether and how drives are to erase themselves before they are overwritten (`--purge`).

use rustix::fs::OFlags;
use squall_drives::erase::sanitize::{State, percent};
use squall_drives::erase::{self, EraseChoice, EraseMethod, SupportedErases};
use squall_drives::io::{Access, Buffer};
use squall_drives::{Target, shown};
use squall_tool_base::Failure;

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

/// Decides how each of `targets` erases itself, by what they support. Fails if one of them cannot. What erases all
/// namespaces of a subsystem is done for one of them, and the others wait for it.
pub fn choose(
    how: EraseChoice,
    targets: &[Target],
    supported: &[SupportedErases],
) -> Result<Vec<Option<Purge>>, Failure> {
    let all = targets.iter().zip(supported);
    let means = all.map(|(target, erases)| erases.choose(how).map_err(|why| refused(target, &why)));
    let means: Vec<EraseMethod> = means.collect::<Result<_, _>>()?;
    let leader = |target: &Target| {
        let subsystem = target.subsystem()?;
        let is_it = |(other, means): (&Target, &EraseMethod)| {
            means.reaches_all_namespaces() && other.subsystem().as_ref() == Some(&subsystem)
        };
        targets.iter().zip(&means).position(is_it)
    };
    let purge = |(number, target)| {
        let leader = leader(target).filter(|leader| *leader != number);
        Some(Purge {
            with: leader,
            ..Purge::asked(means[leader.unwrap_or(number)])
        })
    };
    Ok(targets.iter().enumerate().map(purge).collect())
}

/// What each of `targets`, which may all be erased, answers about its own erase.
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

/// How `target` is opened: the kernel retries a read for minutes while a drive sanitizes itself.
pub fn access(target: &Target) -> Access {
    match why_unreadable(target) {
        None => Access::Write,
        Some(_) => Access::WriteLater,
    }
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
