//! Advice for flash: data that overwriting does not reach, and the drive's own commands that erase it.

use std::path::Path;

use squall_drives::{Identity, Kind};

use crate::record::{Action, Drive, Means, Purge};

/// Why overwriting is not enough, and what to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What overwriting did not reach, and what the commands do.
    pub text: String,
    /// The commands in order, each with what it does.
    pub commands: Vec<(String, &'static str)>,
}

/// What overwriting cannot reach on flash, and what to run instead, in one line. `None` if the
/// target is not flash. It can `erase` itself by these means.
pub fn flash_advice(identity: &Identity, erase: Option<Means>) -> Option<String> {
    let Advice { text, commands } = Advice::of(identity, erase)?;
    let commands = commands
        .iter()
        .map(|(command, what)| format!("`{command}` ({what})"));
    let commands: Vec<_> = commands.collect();
    if commands.is_empty() {
        Some(text)
    } else {
        Some(format!("{text} {}", commands.join(", ")))
    }
}

impl Advice {
    /// Advice on a drive that was overwritten, and may have erased itself before.
    pub fn on(drive: &Drive) -> Option<Advice> {
        let target = &drive.target;
        let Some(means) = drive.purge.as_ref().and_then(Purge::done) else {
            // What failed is not advised again.
            return Advice::of(target, drive.erase.filter(|_| drive.purge.is_none()));
        };
        let whole = "everything it holds, including the cells that it keeps aside";
        let (reach, commands) = match (means, means.action()) {
            (Means::SecureDiscard, _) => (
                "what is mapped, including copies of it, but not what was no longer mapped",
                beyond_discards(target),
            ),
            (_, Some(Action::CryptoErase)) => (
                "the key under which it encrypts everything it holds, so that nothing can be decrypted",
                Vec::new(),
            ),
            (Means::ScsiSanitize | Means::AtaSanitize, _) => (
                "everything it holds, or the key under which it encrypts that",
                Vec::new(),
            ),
            (Means::NvmeFormat, _) => (
                "what this namespace holds; whether also what the cells hold that it keeps aside, no standard says",
                Vec::new(),
            ),
            _ => (whole, Vec::new()),
        };
        let text = format!(
            "Before it was overwritten, the drive erased itself by {}: {reach}. It reports that it \
             did; that cannot be checked from outside.",
            means.name()
        );
        Some(Advice { text, commands })
    }

    /// Advice on a target that is only overwritten; `None` if it is not flash. It can `erase` itself by these means.
    pub fn of(identity: &Identity, erase: Option<Means>) -> Option<Advice> {
        if identity.flash != Some(true) {
            return None;
        }
        let commands = match (erase, identity.kind) {
            (Some(means), _) => vec![purge(&identity.path, means.name())],
            (None, Kind::Disk) => disk(&identity.path),
            (None, Kind::Partition) => {
                let what = "erases what is mapped, of this partition alone";
                vec![purge(&identity.path, what)]
            }
            (None, Kind::Loop | Kind::Mapped | Kind::File) => Vec::new(),
        };
        let scope = match identity.kind {
            Kind::Disk => "Only the drive itself can erase those",
            _ => "Only the drive itself can erase those, and all of it at once",
        };
        let scope = match (erase, commands.is_empty()) {
            (Some(_), _) => format!("{scope}; this asks it to:"),
            (None, false) => format!("{scope}, if it supports this:"),
            (None, true) => format!("{scope}."),
        };
        let text = format!(
            "This is flash: it keeps cells aside, and moves data between them. What was in those \
             cannot be overwritten from outside. {scope}"
        );
        Some(Advice { text, commands })
    }
}

/// The command that has a target erase itself before it is overwritten again, and what that does.
fn purge(path: &Path, what: &'static str) -> (String, &'static str) {
    (format!("squall wipe --purge {}", path.display()), what)
}

/// Commands for a whole drive of which squall knows no erase. They erase all its contents, even what the wipe wrote.
fn disk(path: &Path) -> Vec<(String, &'static str)> {
    let shown = path.display();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(controller) = controller(&name) {
        return vec![
            (
                format!("nvme sanitize {controller} --sanact=2"),
                "erases every block, of all namespaces",
            ),
            (
                format!("nvme sanitize-log {controller}"),
                "shows when that is done",
            ),
        ];
    }
    if name.starts_with("mmcblk") {
        return vec![
            purge(path, "erases what is mapped"),
            (format!("mmc sanitize {shown}"), "erases what is not (eMMC)"),
        ];
    }
    if name.starts_with("sd") {
        return vec![
            (
                format!("hdparm --yes-i-know-what-i-am-doing --sanitize-block-erase {shown}"),
                "erases every block (SATA)",
            ),
            (
                format!("hdparm --sanitize-status {shown}"),
                "shows when that is done",
            ),
            (
                format!("sg_sanitize --block {shown}"),
                "erases every block (SAS)",
            ),
        ];
    }
    vec![purge(path, "erases what is mapped")]
}

/// Commands for what a secure discard does not reach.
fn beyond_discards(target: &Identity) -> Vec<(String, &'static str)> {
    let mut commands = match target.kind {
        Kind::Disk => disk(&target.path),
        _ => Vec::new(),
    };
    commands.retain(|(command, _)| command.starts_with("mmc sanitize "));
    commands
}

/// The controller of an NVMe namespace: `/dev/nvme0` of `nvme0n1`.
fn controller(name: &str) -> Option<String> {
    let digits = name.strip_prefix("nvme")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    (end > 0).then(|| format!("/dev/nvme{}", &digits[..end]))
}
