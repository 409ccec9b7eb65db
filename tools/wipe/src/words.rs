//! What people are told about a drive: how good its outcome is, and what that means; what to do next; what overwriting cannot
//! reach; and the commands by which flash erases that.

use std::path::{Path, PathBuf};

use squall_drives::erase::Action;
use squall_drives::{Hidden, Identity, Kind, Storage, Target, shown};
use squall_tool_base::report::{Grade, Part, Verdict};
use squall_tool_base::text::in_a_line;
use squall_tool_base::units;

use crate::record::{Drive, EraseMethod, Job, Level, Outcome, OwnErase, Purge, Scope};
use crate::text;

/// The outcome in a word or a few.
pub fn word(drive: &Drive) -> String {
    match &drive.outcome {
        None => "Under way".into(),
        Some(Outcome::Overwritten) => "Overwritten, not verified".into(),
        Some(outcome) => capitalized(outcome.word()),
    }
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

pub fn verdict(job: &Job, drive: &Drive) -> Verdict {
    let mut sentences = vec![sentence(job, drive)];
    sentences.extend(drive.wipe.is_none().then(|| level(drive)));
    Verdict {
        grade: grade(drive),
        word: word(drive),
        sentences,
    }
}

/// How many drives ended how, the worst of which decides.
pub fn verdict_on_all(job: &Job) -> Verdict {
    let mut words: Vec<(String, usize)> = Vec::new();
    for word in job.drives.iter().map(word) {
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => words.push((word, 1)),
        }
    }
    let word = match &words[..] {
        [(word, _)] => word.clone(),
        _ => {
            let parts = words.iter();
            let parts = parts.map(|(word, count)| format!("{count} {}", word.to_lowercase()));
            parts.collect::<Vec<_>>().join("; ")
        }
    };
    let total: u64 = job.drives.iter().map(|drive| drive.target.size).sum();
    let (count, total) = (job.drives.len(), units::volume(total));
    Verdict {
        grade: job.drives.iter().map(grade).max().unwrap_or(Grade::Bad),
        word,
        sentences: vec![format!("{count} drives, {total} in all.")],
    }
}

/// The level of sanitization that was reached, and what that means.
fn level(drive: &Drive) -> String {
    let hidden = drive.hidden.and_then(Hidden::text);
    let storage = drive.target.storage;
    let means = match (drive.level, drive.target.kind, hidden) {
        (Some(Level::Clear), ..) => {
            "every place that the host can address was overwritten, and everything that was read \
             back matched."
                .into()
        }
        (Some(Level::Purge), ..) => "the drive also sanitized itself, as it reports.".into(),
        (None, Kind::Disk | Kind::Virtual, _) if storage != Storage::Drive => format!(
            "levels are for drives, and this storage is {}.",
            storage.words()
        ),
        (None, Kind::Disk, Some(hidden)) => {
            format!("it hides {hidden}, which was not overwritten.")
        }
        (None, Kind::Disk, None) => "it was not completely overwritten and verified.".into(),
        (None, ..) => "levels are for whole drives.".to_owned(),
    };
    let name = drive.level.map_or("none", Level::name);
    let validation = match drive.level {
        Some(_) => {
            " Whether that suffices for what it held (validation) is for its owner to decide."
        }
        None => "",
    };
    format!("Level of NIST SP 800-88 Rev. 2: {name}; {means}{validation}")
}

fn grade(drive: &Drive) -> Grade {
    match drive.outcome {
        Some(Outcome::Verified) if drive.hides_something() => Grade::Doubtful,
        Some(Outcome::Verified) => Grade::Good,
        None | Some(Outcome::Overwritten | Outcome::Interrupted) => Grade::Doubtful,
        _ => Grade::Bad,
    }
}

/// The outcome in a sentence or two.
fn sentence(job: &Job, drive: &Drive) -> String {
    let missing = drive.not_overwritten();
    let left = match missing {
        _ if drive.wipe.is_some() && drive.verification.is_none() => "nothing was compared".into(),
        0 => "every byte had been overwritten".into(),
        _ => format!(
            "{} bytes were not overwritten",
            text::grouped_digits(missing)
        ),
    };
    match &drive.outcome {
        None => format!("It was still under way when this was written: {left}."),
        Some(Outcome::Verified) => match compared(job, drive) {
            Scope::Full => {
                "Every byte was overwritten, read back, and found as it was written.".into()
            }
            _ => "Every byte was overwritten; a sample of them was read back, and found as it \
                  was written."
                .into(),
        },
        Some(Outcome::Overwritten) => {
            "Every byte was overwritten. Nothing was read back, as was asked for.".into()
        }
        Some(Outcome::Incomplete) if let Some(now) = drive.size_at_end => format!(
            "Its size changed meanwhile, from {} to {} bytes: nothing is known of what was added or cut off.",
            text::grouped_digits(drive.target.size),
            text::grouped_digits(now)
        ),
        Some(Outcome::Incomplete) => match missing {
            0 if drive.purge_failure().is_some() && drive.unreadable_bytes() == 0 => {
                "Every byte was overwritten, but the drive's own erase failed.".into()
            }
            0 => "Every byte was overwritten, but some could not be read back.".into(),
            _ => format!(
                "{} bytes could not be overwritten.",
                text::grouped_digits(missing)
            ),
        },
        Some(Outcome::Differs) => format!(
            "{} of the bytes that were read back are not what was written.{}",
            text::grouped_digits(drive.differing_bytes()),
            match drive.wipe {
                Some(_) =>
                    " Somebody has written to it since, or it does not keep what it is given.",
                None => "",
            }
        ),
        Some(Outcome::Interrupted) => format!("It was stopped before it was finished: {left}."),
        Some(Outcome::Vanished) => format!("The drive disappeared: {left}."),
        Some(Outcome::Failed { reason }) => format!("It could not continue ({reason}): {left}."),
        Some(Outcome::Dead { reason }) => format!("The drive has died ({reason}): {left}."),
    }
}

fn compared(job: &Job, drive: &Drive) -> Scope {
    let verification = drive.verification.as_ref();
    verification.map_or(job.plan.verify, |verification| verification.scope)
}

/// What to do with a drive that did not succeed.
pub fn next(job: &Job, drive: &Drive) -> Option<String> {
    let again = match job.is_report() {
        true => "verify it again",
        false => "resume the job",
    };
    let advice = match drive.outcome.as_ref()? {
        Outcome::Verified | Outcome::Overwritten => return None,
        Outcome::Incomplete if drive.size_at_end.is_some() => {
            "its size changed meanwhile: nothing is known of what was added or cut off: wipe it again"
        }
        Outcome::Incomplete if drive.not_overwritten() > 0 && !has_cells(drive) => {
            "parts of it could not be overwritten: wipe the drive on which it lies, or destroy that"
        }
        Outcome::Incomplete if drive.not_overwritten() > 0 => {
            "parts of it could not be overwritten: destroy it, or have it erase itself (--purge)"
        }
        Outcome::Incomplete if drive.purge_failure().is_some() && drive.unreadable_bytes() == 0 => {
            "overwritten, but its own erase failed: try --purge again, or destroy it"
        }
        Outcome::Incomplete => {
            "overwritten, but parts of it could not be read back: verify it again, or destroy it"
        }
        Outcome::Differs if drive.wipe.is_some() => {
            "it does not hold what the wipe wrote: if somebody has used it since, wipe it again; if nobody has, do not \
             trust it"
        }
        Outcome::Differs => {
            "it does not hold what was written to it: do not trust it; wipe it again, and destroy \
             it if it differs again"
        }
        Outcome::Interrupted => again,
        Outcome::Vanished if job.is_report() => "attach it again and verify it",
        Outcome::Vanished => "attach it again and resume the job",
        Outcome::Dead { .. } if !has_cells(drive) => {
            "the drive on which it lies has died: destroy that"
        }
        Outcome::Dead { .. } => "it has died: destroy it",
        Outcome::Failed { reason } => {
            let target = shown(&drive.target.given);
            let reason = in_a_line(reason);
            // Reasons from the system begin with the path already.
            let its = reason.strip_prefix(&format!("{target}: "));
            let reason = its.unwrap_or(&reason);
            return Some(format!("{target}: {reason}: fix that, and {again}"));
        }
    };
    Some(format!("{}: {advice}", shown(&drive.target.given)))
}

/// Whether the target is a drive or a part of one, which may erase itself. A file and the like lie on one.
fn has_cells(drive: &Drive) -> bool {
    matches!(drive.target.kind, Kind::Disk | Kind::Partition)
}

const MAGNETIC: &str = "Every sector that the drive shows was addressed. Out of reach are sectors that it had \
     replaced by spare ones before, of which a healthy disk has few or none (`smartctl -A` counts \
     them), and areas that are hidden from the host (`hdparm -N` shows whether there are any).";

const UNKNOWN_MEDIUM: &str = "The kernel does not report whether this is flash. If it is, its spare cells are out \
     of reach too, and only the drive itself can erase them.";

const ARRAY: &str = "This is an array of drives, not a drive. Drives that have left it keep what they held, and \
     its own records on its members (superblocks, bitmaps, journals) were not overwritten, nor what lies beside \
     it there. Wipe each drive by itself.";

const LAYERS: &str = "This device lies on others, which may move data between them, keep older copies or \
     have spare cells: what holds for them holds for it.";

const FILE: &str = "The file's bytes were overwritten where the filesystem keeps them. A filesystem that \
     writes elsewhere (btrfs, ZFS, bcachefs, some of XFS), a journal of data, a snapshot or \
     a backup may hold older copies; so may the spare cells of flash.";

const MEMORY: &str = "This device is in the machine's memory, and ends with the machine at the latest. What was \
     written out from there to swap or to a backing device was not overwritten.";

const NETWORK: &str = "Another machine holds these bytes, on drives that this one does not see. Snapshots, \
     replicas, caches and freed blocks there may hold older copies.";

const HOST: &str = "The host of this virtual machine holds these bytes, in a file or on drives that this machine \
     does not see. Snapshots, replicas, backups and freed blocks there may hold older copies.";

const PROGRAM: &str = "A program holds these bytes, where this machine's kernel does not see. It may keep older \
     copies.";

const UNKNOWN: &str = "squall does not know what holds the bytes of this device, nor whether older copies are \
     kept there.";

/// What overwriting cannot reach, for the page about a drive.
pub fn limits(drive: &Drive) -> Vec<Part> {
    let target = &drive.target;
    let sentences: &[&str] = match (target.storage, target.flash) {
        (Storage::Drive, Some(false)) => &[MAGNETIC],
        (Storage::Drive, None) => &[MAGNETIC, UNKNOWN_MEDIUM],
        (Storage::Drive, Some(true)) => &[],
        (Storage::Array, _) => &[ARRAY],
        (Storage::Layers, _) => &[LAYERS],
        (Storage::FileSystem, _) => &[FILE],
        (Storage::Memory, _) => &[MEMORY],
        (Storage::Network, _) => &[NETWORK],
        (Storage::Host, _) => &[HOST],
        (Storage::Program, _) => &[PROGRAM],
        (Storage::Unknown, _) => &[UNKNOWN],
    };
    let note = |sentence: &str| Part::Note(sentence.to_owned());
    let mut parts: Vec<_> = sentences.iter().map(|it| note(it)).collect();
    if let Some(Advice { text, commands }) = Advice::for_drive(drive) {
        parts.push(Part::Warning("Flash", text));
        let has_commands = !commands.is_empty();
        let copy = |(command, what): (String, &str)| Part::Copy(what.to_owned(), command);
        parts.extend(commands.into_iter().map(copy));
        let after = "After that, the drive may no longer hold what this page says was written.";
        parts.extend(has_commands.then(|| note(after)));
    }
    if target.kind == Kind::Partition {
        parts.push(note(
            "Only this partition was overwritten, and nothing beside it on the drive.",
        ));
    }
    parts
}

/// Why overwriting is not enough, and what to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What overwriting did not reach, and what the commands do.
    pub text: String,
    /// The commands in order, each with what it does.
    pub commands: Vec<(String, &'static str)>,
}

/// What overwriting cannot reach on flash, and what to run instead, in one line. `None` if the
/// target is not flash. `erase` is what it said of its own erase.
pub fn flash_advice(identity: &Identity, erase: Option<&OwnErase>) -> Option<String> {
    let Advice { text, commands } = Advice::for_target(identity, erase)?;
    let commands = commands.iter();
    let commands = commands.map(|(command, what)| format!("`{command}` ({what})"));
    let commands: Vec<_> = commands.collect();
    Some(match commands.is_empty() {
        true => text,
        false => format!("{text} {}", commands.join(", ")),
    })
}

/// Notes on data that overwriting does not reach, each once.
pub fn flash_notes(targets: &[Target], erases: &[Option<OwnErase>]) -> Vec<String> {
    let all = targets.iter().zip(erases);
    let advice = all.filter_map(|(target, erase)| flash_advice(&target.identity, erase.as_ref()));
    let mut advice: Vec<String> = advice.collect();
    advice.dedup();
    advice
}

/// What is said of the erase of a target that cannot be asked.
pub fn perhaps_supported(identity: &Identity) -> Option<String> {
    let is_card = identity.flash == Some(true) && is_memory_card(&identity.path);
    let name = EraseMethod::SecureDiscard.name();
    is_card.then(|| format!("perhaps supported: {name} (--purge)"))
}

impl Advice {
    /// Advice on a drive that was overwritten, and may have erased itself before.
    pub fn for_drive(drive: &Drive) -> Option<Advice> {
        let target = &drive.target;
        let Some(means) = drive.purge.as_ref().and_then(Purge::done) else {
            return Advice::for_target(target, drive.own_erase.as_ref());
        };
        let reach = match (means, means.action()) {
            (EraseMethod::SecureDiscard, _) => {
                "the blocks in use, including copies of them, but not the unused blocks"
            }
            (_, Some(Action::CryptoErase)) => {
                "the key under which it encrypts everything it holds, so that nothing can be decrypted"
            }
            (EraseMethod::ScsiSanitize | EraseMethod::AtaSanitize, _) => {
                "everything it holds, or the key under which it encrypts that"
            }
            (EraseMethod::NvmeFormat, _) => {
                "what this namespace holds; no standard says whether that includes spare cells"
            }
            _ => "everything it holds, including the spare cells",
        };
        let is_left = means == EraseMethod::SecureDiscard
            && target.kind == Kind::Disk
            && is_memory_card(&target.path);
        let commands = is_left.then(|| beyond_discards(&target.path));
        let commands = commands.into_iter().collect();
        let text = format!(
            "Before it was overwritten, the drive erased itself by {}: {reach}. It reports that it \
             did; that cannot be checked from outside.",
            means.name()
        );
        Some(Advice { text, commands })
    }

    /// Advice on a target that is only overwritten; `None` if it is not flash. `erase` is what it said of its own erase.
    pub fn for_target(identity: &Identity, erase: Option<&OwnErase>) -> Option<Advice> {
        if identity.flash != Some(true) {
            return None;
        }
        let commands = match (erase, identity.kind) {
            (Some(OwnErase::Supported { means, targets }), _) => vec![purge(targets, means.name())],
            (Some(OwnErase::Unsupported { .. }), _) => Vec::new(),
            (None, Kind::Disk) => disk(&identity.path),
            // A drive erases a part of itself only by secure discard.
            (None, Kind::Partition) => vec![(
                format!(
                    "squall wipe --purge=discard --untried-on-hardware {}",
                    identity.path.display()
                ),
                "erases the blocks in use of this partition alone, then overwrites",
            )],
            (None, Kind::Virtual | Kind::Loop | Kind::Mapped | Kind::File) => Vec::new(),
        };
        let scope = match identity.kind {
            Kind::Disk => "Only the drive itself can erase them",
            _ => "Only the drive itself can erase them, and all of it at once",
        };
        let scope = match (erase, commands.is_empty()) {
            (Some(OwnErase::Supported { .. }), _) => format!("{scope}; this asks it to:"),
            (Some(OwnErase::Unsupported { reason }), _) => {
                format!("{scope}, and --purge refuses to ask it: {reason}.")
            }
            (None, false) => format!("{scope}, if it supports this:"),
            (None, true) => format!("{scope}."),
        };
        let text = format!(
            "Flash keeps spare cells and moves data between cells. Overwriting cannot reach data in \
             spare cells. {scope}"
        );
        Some(Advice { text, commands })
    }
}

/// The command that has `targets` erase themselves before they are overwritten again, and what that does.
fn purge(targets: &[PathBuf], what: &'static str) -> (String, &'static str) {
    let names = targets.iter().map(|path| path.display().to_string());
    let names: Vec<_> = names.collect();
    let names = names.join(" ");
    let command = format!("squall wipe --purge --untried-on-hardware {names}");
    (command, what)
}

/// Commands for a whole drive that tells nothing of its own erase. They erase all its contents, even what the wipe wrote.
fn disk(path: &Path) -> Vec<(String, &'static str)> {
    if !is_memory_card(path) {
        let what = "the drive erases itself, then is overwritten";
        return vec![purge(&[path.into()], what)];
    }
    let what = "erases the blocks in use, then overwrites";
    vec![purge(&[path.into()], what), beyond_discards(path)]
}

/// The command for what a secure discard of an eMMC does not reach.
fn beyond_discards(path: &Path) -> (String, &'static str) {
    let command = format!("mmc sanitize {}", path.display());
    (command, "erases the unused blocks (eMMC)")
}

/// Whether the device at `path` is a memory card or an eMMC, which cannot be asked about its own erase.
fn is_memory_card(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("mmcblk")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::fixture;

    /// A file lies on a drive, and cannot be asked for anything.
    #[test]
    fn only_drives_are_advised_to_erase_themselves() {
        let job = fixture::job();
        let mut drive = job.drives[0].clone();
        drive.passes[0].offset = 0;
        for outcome in [
            Outcome::Incomplete,
            Outcome::Dead {
                reason: "it refused".into(),
            },
        ] {
            drive.outcome = Some(outcome.clone());
            for kind in [Kind::File, Kind::Loop, Kind::Mapped, Kind::Virtual] {
                drive.target.kind = kind;
                let advice = next(&job, &drive).expect("advice");
                assert!(advice.contains("the drive on which it lies"), "{advice}");
                assert!(!advice.contains("--purge"), "{advice}");
            }
            drive.target.kind = Kind::Disk;
            let advice = next(&job, &drive).expect("advice");
            assert!(!advice.contains("on which it lies"), "{advice}");
        }
    }

    /// After a wipe nobody else could have written; after a verification somebody may have.
    #[test]
    fn a_drive_that_differs_later_may_have_been_used() {
        let job = fixture::job();
        let mut drive = job.drives[0].clone();
        drive.outcome = Some(Outcome::Differs);
        let words = "if somebody has used it since, wipe it again";
        assert!(!next(&job, &drive).expect("advice").contains(words));
        let later = fixture::verification_of(&job, 0);
        drive.wipe.clone_from(&later.drives[0].wipe);
        assert!(next(&later, &drive).expect("advice").contains(words));
    }
}
