//! The lines to copy: crypttab(5) and cryptsetup(8), as cryptsetup 2.7 and Debian's scripts read
//! them. Both count all of the key, of XTS twice, and take names of ciphers as the kernel does.
//! The size of sectors is always said to `luksFormat`, which would choose one by the drive.

use crate::model::{Backing, BackingKind, Options};
use crate::spec::Spec;

/// Stands for a device where none was named that keeps its name; no device can have this name, as those begin with what
/// the drive is attached to.
const PLACEHOLDER: &str = "/dev/disk/by-id/DEVICE";

/// What an opened volume is called.
const VOLUME: &str = "volume";

/// What the lines are about.
pub struct Lines<'a> {
    /// The specification.
    pub spec: &'a Spec,
    /// Options of its table.
    pub options: Options,
    /// What it was measured on.
    pub backing: &'a Backing,
}

impl Lines<'_> {
    /// The line of crypttab for swap under a new random key at each start.
    pub fn swap(&self) -> String {
        let Options {
            sector_size,
            no_workqueues,
        } = self.options;
        let mut options = vec![
            "swap".to_owned(),
            "plain".to_owned(),
            format!("cipher={}", field(&self.spec.name()).replace(',', "\\054")),
            format!("size={}", self.spec.key_bits),
        ];
        if sector_size != 512 {
            options.push(format!("sector-size={sector_size}"));
        }
        if no_workqueues {
            options.push("no-read-workqueue".to_owned());
            options.push("no-write-workqueue".to_owned());
        }
        format!(
            "swap {} /dev/urandom {}",
            field(self.device()),
            options.join(",")
        )
    }

    /// The command that makes a LUKS2 volume.
    pub fn luks_format(&self) -> String {
        format!(
            "cryptsetup luksFormat --type luks2 --cipher {} --key-size {} --sector-size {} {}",
            word(&self.spec.name()),
            self.spec.key_bits,
            self.options.sector_size,
            word(self.device()),
        )
    }

    /// The command that opens it; flags are kept in its header, for whoever opens it later.
    pub fn luks_open(&self) -> String {
        let flags = if self.options.no_workqueues {
            "--perf-no_read_workqueue --perf-no_write_workqueue --persistent "
        } else {
            ""
        };
        format!("cryptsetup open {flags}{} {VOLUME}", word(self.device()))
    }

    /// The line of crypttab that opens it at start.
    pub fn luks_crypttab(&self) -> String {
        format!("{VOLUME} {} none luks", field(self.device()))
    }

    fn device(&self) -> &str {
        if has_lasting_name(self.backing) {
            &self.backing.name
        } else {
            PLACEHOLDER
        }
    }
}

/// Whether the name of what was measured is the drive's own, which a line for swap may have: one that
/// is another drive's after the next start would have that overwritten.
pub fn has_lasting_name(backing: &Backing) -> bool {
    let own = backing.name.strip_prefix("/dev/disk/by-id/");
    // Neither the directory itself, nor a way out of it.
    let is_plain = |name: &str| !["", ".", ".."].contains(&name) && !name.contains('/');
    backing.kind == BackingKind::Device && own.is_some_and(is_plain)
}

/// `text` as a word of a shell.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,+=@%".contains(c);
    if text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// `text` as a field of crypttab, where spaces and backslashes are octal.
fn field(text: &str) -> String {
    let escaped = |c: char| match c {
        ' ' => "\\040".into(),
        '\t' => "\\011".into(),
        '\\' => "\\134".into(),
        '#' => "\\043".into(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}
