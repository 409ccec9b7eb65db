//! The lines to copy, for crypttab(5) and cryptsetup(8), in the syntax of cryptsetup 2.7 and Debian's
//! scripts. Both count the whole key, which XTS doubles, and take the kernel's names of ciphers.
//! `luksFormat` would choose the sector size by the drive, so the line always names it.

use crate::model::{Backing, BackingKind, Options};
use crate::spec::Spec;

/// Stands for the device if the user named none by a lasting name. No device can have this name: the
/// names there begin with what the drive is attached to.
const PLACEHOLDER: &str = "/dev/disk/by-id/DEVICE";

/// The name of the opened volume.
const VOLUME: &str = "volume";

/// The facts that the lines are made from.
pub struct Lines<'a> {
    /// The specification.
    pub spec: &'a Spec,
    /// Options of its table.
    pub options: Options,
    /// The device that was measured.
    pub backing: &'a Backing,
}

impl Lines<'_> {
    /// The crypttab line for swap with a new random key at each boot.
    pub fn swap(&self) -> String {
        let Options {
            sector_size,
            no_workqueues,
            same_cpu,
            ..
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
        if same_cpu {
            options.push("same-cpu-crypt".to_owned());
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

    /// The command that creates a LUKS2 volume.
    pub fn luks_format(&self) -> String {
        format!(
            "cryptsetup luksFormat --type luks2 --cipher {} --key-size {} --sector-size {} {}",
            word(&self.spec.name()),
            self.spec.key_bits,
            self.options.sector_size,
            word(self.device()),
        )
    }

    /// The command that opens the volume; it stores the flags in the volume's header.
    pub fn luks_open(&self) -> String {
        let flags = match self.options {
            Options {
                no_workqueues: true,
                ..
            } => "--perf-no_read_workqueue --perf-no_write_workqueue --persistent ",
            Options { same_cpu: true, .. } => "--perf-same_cpu_crypt --persistent ",
            _ => "",
        };
        format!("cryptsetup open {flags}{} {VOLUME}", word(self.device()))
    }

    /// The crypttab line that opens the volume at boot.
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

/// Whether the measured device was given by a name that always means the same drive. A line for swap
/// needs one: it overwrites whatever device has the name at the next boot.
pub fn has_lasting_name(backing: &Backing) -> bool {
    let own = backing.name.strip_prefix("/dev/disk/by-id/");
    // The name must be a file directly in that directory.
    let is_plain = |name: &str| !["", ".", ".."].contains(&name) && !name.contains('/');
    backing.kind == BackingKind::Device && own.is_some_and(is_plain)
}

/// Quotes `text` as a word for a shell.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,+=@%".contains(c);
    if text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Escapes `text` as a field of crypttab, with octal numbers for special characters.
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
