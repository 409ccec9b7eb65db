//! Advice for flash: data that overwriting does not reach, and the commands by which the drive erases it.

use std::path::{Path, PathBuf};

use squall_drives::erase::Action;
use squall_drives::{Identity, Kind};

use crate::record::{Drive, EraseMethod, OwnErase, Purge};

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
pub fn is_memory_card(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("mmcblk")
}
