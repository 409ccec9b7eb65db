//! The recommendation: one secure specification with its options, the lines to copy, the reason for
//! the choice, and notes.

mod lines;
#[cfg(test)]
mod tests;

use squall_tools::measure::machine;

use crate::model::{Backing, BackingKind, Measured, Recommendation};
use crate::prefer::{Preferred, preference, preferred};
use crate::report::document::percent;
use lines::{Lines, has_lasting_name};

/// Recommends the best secure one of `variants`, or of `ranking` if no variant is secure; `None` if
/// nothing is. The two lists come from different rounds, so they are not compared with each other.
pub fn recommend(
    ranking: &[Measured],
    variants: &[Measured],
    backing: &Backing,
) -> Option<Recommendation> {
    of_machine(ranking, variants, backing, machine::is_emulated())
}

fn of_machine(
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
    let told = notes.into_iter().filter(|(applies, _)| *applies);
    told.map(|(_, note)| note.to_owned()).collect()
}
