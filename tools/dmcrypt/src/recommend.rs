//! The recommendation: one secure specification with its options, the lines to copy, the reason for
//! the choice, and notes.
//!
//! The lines are for crypttab(5) and cryptsetup(8), in the syntax of cryptsetup 2.7 and Debian's
//! scripts. Both count the whole key, which XTS doubles, and take the kernel's names of ciphers.
//! `luksFormat` would choose the sector size by the drive, so the line always names it.

use squall_tools::measure::machine;

use crate::model::{Backing, BackingKind, Measured, Options, Recommendation};
use crate::rank::{Preferred, preference, preferred};
use crate::report::percent;
use crate::spec::Spec;

/// Recommends the best secure one of `variants`, or of `ranking` if no variant is secure; `None` if
/// nothing is. The two lists come from different rounds, so they are not compared with each other.
pub fn recommend(
    ranking: &[Measured],
    variants: &[Measured],
    backing: &Backing,
) -> Option<Recommendation> {
    recommend_on(ranking, variants, backing, machine::is_emulated())
}

fn recommend_on(
    ranking: &[Measured],
    variants: &[Measured],
    backing: &Backing,
    is_emulated: bool,
) -> Option<Recommendation> {
    let among = |all: &[Measured]| {
        let all: Vec<&Measured> = all.iter().collect();
        let found = preferred(&all)?;
        let lines = Lines {
            spec: &found.chosen.spec,
            options: found.chosen.options,
            backing,
        };
        Some(Recommendation {
            spec: found.chosen.spec.clone(),
            options: found.chosen.options,
            why: why(&found),
            swap: lines.swap(),
            luks_format: lines.luks_format(),
            luks_open: lines.luks_open(),
            luks_crypttab: lines.luks_crypttab(),
            notes: notes(found.chosen, backing, is_emulated),
        })
    };
    among(variants).or_else(|| among(ranking))
}

/// The reason for the choice, in a sentence.
fn why(found: &Preferred) -> String {
    let Preferred {
        chosen,
        fastest,
        secure,
    } = found;
    let speed = percent(chosen.score);
    if std::ptr::eq(*chosen, *fastest) {
        let which = match secure {
            1 => "The only secure candidate".into(),
            _ => format!("The fastest of {secure} secure candidates in the final round"),
        };
        return format!("{which}: {speed} % of the speed without encryption.");
    }
    let (mine, theirs) = (preference(chosen), preference(fastest));
    let advantage = match () {
        _ if mine.is_other_mode != theirs.is_other_mode => {
            "its mode is XTS, the standard for disks"
        }
        _ if mine.is_other_cipher != theirs.is_other_cipher => "its cipher is AES",
        _ if mine.strength != theirs.strength => "its key is longer",
        _ => "has simpler options",
    };
    format!(
        "It is about as fast as {} ({speed} % against {} %), and {advantage}.",
        named(fastest),
        percent(fastest.score),
    )
}

/// A specification with its options, in words.
fn named(measured: &Measured) -> String {
    let options = &measured.options;
    let mut text = measured.spec.to_string();
    if options.sector_size != 512 {
        text += &format!(" with sectors of {} bytes", options.sector_size);
    }
    if options.no_workqueues {
        text += " without work queues";
    }
    if options.same_cpu {
        text += " with work queues on the same CPU";
    }
    text
}

/// Warnings and requirements, a sentence each.
fn notes(chosen: &Measured, backing: &Backing, is_emulated: bool) -> Vec<String> {
    let is_ram = backing.kind == BackingKind::Ram;
    let is_passing_name = !is_ram && !has_lasting_name(backing);
    let notes: [(bool, &str); 9] = [
        (
            is_emulated,
            "The machine is emulated: these speeds and this recommendation mean nothing; \
             run this on the machine that it is for.",
        ),
        (
            is_ram,
            "It was measured over memory: on a drive that is slower than the encryption, all \
             of them are equally fast; name it with --device to see. Replace \
             /dev/disk/by-id/DEVICE with your device's name.",
        ),
        (
            is_passing_name,
            "The name that was given may belong to another device after the next boot, and the \
             line for swap overwrites whatever has that name: replace /dev/disk/by-id/DEVICE with \
             the device's name below /dev/disk/by-id.",
        ),
        (
            true,
            "`luksFormat` destroys everything on the device; the line for swap does so at every \
             boot.",
        ),
        (
            true,
            "The key for swap is random and forgotten at shutdown: the machine cannot hibernate \
             to it.",
        ),
        (
            chosen.options.sector_size == 4096,
            "Sectors of 4096 bytes: the device and each partition on it must begin and end at a \
             multiple of that (as swap does); what insists on sectors of 512 bytes, such as some \
             disk images and virtual machines with direct I/O, fails: use 512 there.",
        ),
        (
            chosen.options.no_workqueues,
            "Turning off work queues needs Linux 5.9 and cryptsetup 2.3.4; on a spinning disk, \
             measure that with --device first.",
        ),
        (
            chosen.spec.cipher.contains(','),
            "The comma in the cipher's name is \\054 for Debian's cryptdisks_start. systemd's \
             reader of /etc/crypttab parts options at commas, and what it accepts instead depends \
             on its version: see crypttab(5) there, or put swap on a LUKS2 volume.",
        ),
        (
            chosen.spec.mode == "adiantum",
            "For a LUKS2 volume with Adiantum, cryptsetup has the kernel write and read the key \
             slots, which needs the kernel's module algif_skcipher.",
        ),
    ];
    let applying = notes.into_iter().filter(|(applies, _)| *applies);
    applying.map(|(_, note)| note.to_owned()).collect()
}

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

#[cfg(test)]
mod tests;
