//! The recommendation: one secure specification with its options, the lines to copy, the reason for
//! the choice, and notes.
//!
//! The lines are for crypttab(5) and cryptsetup(8), in the syntax of cryptsetup 2.7 and Debian's
//! scripts. Both count the whole key, which XTS doubles, and take the kernel's names of ciphers.
//! `luksFormat` would choose the sector size by the drive, so the line always names it.

use squall_tool_base::text::shell_word;

use crate::model::{Backing, BackingKind, Measured, Options, Recommendation};
use crate::rank::{PREFERENCES, Preferred, preferred};
use crate::report::percent;

/// Stands for the device if the user named none by a lasting name. No device can have this name: the
/// names there begin with what the drive is attached to.
const PLACEHOLDER: &str = "/dev/disk/by-id/DEVICE";

const VOLUME: &str = "volume";

/// Recommends the best secure one of `variants`, or of `ranking` if no variant is secure; `None` if
/// nothing is. The two lists come from different rounds, so they are not compared with each other.
pub fn recommend(
    ranking: &[Measured],
    variants: &[Measured],
    backing: &Backing,
    is_emulated: bool,
) -> Option<Recommendation> {
    let among = |all: &[Measured]| {
        let all: Vec<&Measured> = all.iter().collect();
        let found = preferred(&all)?;
        let Measured { spec, options, .. } = found.chosen;
        let device = match has_lasting_name(backing) {
            true => &backing.name,
            false => PLACEHOLDER,
        };
        let (in_shell, in_table) = (shell_word(device), field(device));
        Some(Recommendation {
            spec: spec.clone(),
            options: *options,
            why: why(&found),
            swap: format!(
                "swap {in_table} /dev/urandom {}",
                swap_options(found.chosen)
            ),
            luks_format: format!(
                "cryptsetup luksFormat --type luks2 --cipher {} --key-size {} --sector-size {} {in_shell}",
                shell_word(&spec.name()),
                spec.key_bits,
                options.sector_size,
            ),
            luks_open: format!("cryptsetup open {}{in_shell} {VOLUME}", flags(options)),
            luks_crypttab: format!("{VOLUME} {in_table} none luks"),
            notes: notes(found.chosen, backing, is_emulated),
        })
    };
    among(variants).or_else(|| among(ranking))
}

/// The options of a crypttab line for swap with a new random key at each boot.
fn swap_options(chosen: &Measured) -> String {
    let Measured { spec, options, .. } = chosen;
    let mut words = vec![
        "swap,plain".to_owned(),
        format!("cipher={}", field(&spec.name()).replace(',', "\\054")),
        format!("size={}", spec.key_bits),
    ];
    if options.sector_size != 512 {
        words.push(format!("sector-size={}", options.sector_size));
    }
    words.extend(options.flags().map(|flag| flag.replace('_', "-")));
    words.join(",")
}

/// The flags with which cryptsetup stores the options in a volume's header when it opens it.
fn flags(options: &Options) -> String {
    let flags = options.flags().map(|flag| format!("--perf-{flag} "));
    match flags.collect::<String>() {
        flags if flags.is_empty() => flags,
        flags => flags + "--persistent ",
    }
}

/// The reason for the choice, in a sentence.
fn why(found: &Preferred) -> String {
    let (chosen, fastest) = (found.chosen, found.fastest);
    let speed = percent(chosen.score);
    let mut differing = PREFERENCES.iter();
    let decisive = differing.find(|(lower, _)| lower(chosen) != lower(fastest));
    let Some((_, advantage)) = decisive else {
        let which = match found.secure {
            1 => "The only secure candidate".into(),
            secure => format!("The fastest of {secure} secure candidates in the final round"),
        };
        return format!("{which}: {speed} % of the speed without encryption.");
    };
    format!(
        "It is about as fast as {} with {} ({speed} % against {} %), and {advantage}.",
        fastest.spec,
        fastest.options.described(),
        percent(fastest.score),
    )
}

/// Warnings and requirements, a sentence each.
fn notes(chosen: &Measured, backing: &Backing, is_emulated: bool) -> Vec<String> {
    let is_ram = backing.kind == BackingKind::Ram;
    let is_passing_name = !is_ram && !has_lasting_name(backing);
    #[rustfmt::skip]
    let notes: [(bool, &str); 9] = [
        (is_emulated,
            "The machine is emulated, or user-mode Linux: these speeds and this recommendation mean nothing; run this on the \
             machine that it is for."),
        (is_ram,
            "It was measured over memory: on a drive that is slower than the encryption, all of them are \
             equally fast; name it with --device to see. Replace /dev/disk/by-id/DEVICE with your device's \
             name."),
        (is_passing_name,
            "The name that was given may belong to another device after the next boot, and the line for \
             swap overwrites whatever has that name: replace /dev/disk/by-id/DEVICE with the device's name \
             below /dev/disk/by-id."),
        (true, "`luksFormat` destroys everything on the device; the line for swap does so at every boot."),
        (true, "The key for swap is random and forgotten at shutdown: the machine cannot hibernate to it."),
        (chosen.options.sector_size == 4096,
            "Sectors of 4096 bytes: the device and each partition on it must begin and end at a multiple of \
             that (as swap does); what insists on sectors of 512 bytes, such as some disk images and virtual \
             machines with direct I/O, fails: use 512 there."),
        (chosen.options.no_workqueues,
            "Turning off work queues needs Linux 5.9 and cryptsetup 2.3.4; on a spinning disk, measure that \
             with --device first."),
        (chosen.spec.cipher.contains(','),
            "The comma in the cipher's name is \\054 for Debian's cryptdisks_start. systemd's reader of \
             /etc/crypttab parts options at commas, and what it accepts instead depends on its version: see \
             crypttab(5) there, or put swap on a LUKS2 volume."),
        (chosen.spec.mode == "adiantum",
            "For a LUKS2 volume with Adiantum, cryptsetup has the kernel write and read the key slots, which \
             needs the kernel's module algif_skcipher."),
    ];
    let applying = notes.into_iter().filter(|(applies, _)| *applies);
    applying.map(|(_, note)| note.to_owned()).collect()
}

/// Whether the measured device was given by a name that always means the same drive. A line for swap
/// needs one: it overwrites whatever device has the name at the next boot.
fn has_lasting_name(backing: &Backing) -> bool {
    let own = backing.name.strip_prefix("/dev/disk/by-id/");
    // The name must be a file directly in that directory.
    let is_plain = |name: &str| !["", ".", ".."].contains(&name) && !name.contains('/');
    backing.kind == BackingKind::Device && own.is_some_and(is_plain)
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
mod tests {
    use super::*;
    use crate::rank::tests::measured;
    use crate::rules::Verdict;

    const DISK: &str = "/dev/disk/by-id/nvme-DISK_1";

    fn device(name: &str) -> Backing {
        Backing {
            kind: BackingKind::Device,
            name: name.into(),
            bytes: 1 << 30,
            sector: 512,
        }
    }

    fn ram() -> Backing {
        Backing {
            kind: BackingKind::Ram,
            ..device("/dev/ram0")
        }
    }

    fn with(text: &str, part: f64, sector_size: u32, no_workqueues: bool) -> Measured {
        let mut measured = measured(text, &[part; 30]);
        measured.options = Options {
            sector_size,
            no_workqueues,
            ..Options::PLAIN
        };
        measured
    }

    /// The recommendation if there is only one.
    fn only(measured: Measured, backing: &Backing) -> Recommendation {
        recommend(&[measured], &[], backing, false).expect("it is secure")
    }

    /// Commas separate options and spaces separate fields; Debian's scripts read octal numbers in both.
    #[test]
    fn lines_have_every_option_and_what_separates_is_escaped() {
        let xts = |size, no_queues| with("aes-xts-plain64 512", 0.7, size, no_queues);
        let mut same_cpu = xts(512, false);
        same_cpu.options.same_cpu = true;
        let cbc = with("aes-cbc-essiv:sha256 256", 0.5, 512, false);
        let adiantum = with("xchacha12,aes-adiantum-plain64 256", 0.5, 512, false);
        let odd = "/dev/disk/by-id/a disk's";
        let odd_in = [
            "/dev/disk/by-id/a\\040disk's",
            "'/dev/disk/by-id/a disk'\\''s'",
        ];
        let fast = "--perf-no_read_workqueue --perf-no_write_workqueue --persistent ";
        let same = "--perf-same_cpu_crypt --persistent ";
        #[rustfmt::skip]
        let cases = [
            (xts(4096, true), device(DISK), [DISK; 2], fast,
             "cipher=aes-xts-plain64,size=512,sector-size=4096,no-read-workqueue,no-write-workqueue",
             "--cipher aes-xts-plain64 --key-size 512 --sector-size 4096"),
            (same_cpu, device(DISK), [DISK; 2], same,
             "cipher=aes-xts-plain64,size=512,same-cpu-crypt",
             "--cipher aes-xts-plain64 --key-size 512 --sector-size 512"),
            (cbc, ram(), [PLACEHOLDER; 2], "",
             "cipher=aes-cbc-essiv:sha256,size=256",
             "--cipher aes-cbc-essiv:sha256 --key-size 256 --sector-size 512"),
            (adiantum, device(odd), odd_in, "",
             "cipher=xchacha12\\054aes-adiantum-plain64,size=256",
             "--cipher xchacha12,aes-adiantum-plain64 --key-size 256 --sector-size 512"),
        ];
        for (measured, backing, [in_table, in_shell], flags, swap, format) in cases {
            let found = only(measured, &backing);
            let swap = format!("swap {in_table} /dev/urandom swap,plain,{swap}");
            assert_eq!(found.swap, swap);
            let format = format!("cryptsetup luksFormat --type luks2 {format} {in_shell}");
            assert_eq!(found.luks_format, format);
            let open = format!("cryptsetup open {flags}{in_shell} volume");
            assert_eq!(found.luks_open, open);
            assert_eq!(found.luks_crypttab, format!("volume {in_table} none luks"));
        }
    }

    #[test]
    fn notes_are_of_what_they_apply_to() {
        let xts = || with("aes-xts-plain64 512", 0.5, 512, false);
        let adiantum = with("xchacha20,aes-adiantum-plain64 256", 0.5, 512, false);
        let large = with("aes-xts-plain64 512", 0.5, 4096, true);
        let ids = "below /dev/disk/by-id";
        let always = ["destroys everything", "cannot hibernate"];
        for (measured, backing, words) in [
            (xts(), device(DISK), vec![]),
            (xts(), ram(), vec!["measured over memory"]),
            (xts(), device("/dev/sdb"), vec![ids]),
            (adiantum, device(DISK), vec!["\\054", "algif_skcipher"]),
            (large, device(DISK), vec!["Sectors of 4096", "Linux 5.9"]),
        ] {
            let notes = only(measured, &backing).notes;
            for word in always.iter().chain(&words) {
                assert!(notes.iter().any(|note| note.contains(word)), "{word}");
            }
            assert_eq!(notes.len(), 2 + words.len(), "{notes:?}");
        }
        let emulated = recommend(&[xts()], &[], &ram(), true).expect("it is secure");
        assert!(emulated.notes[0].contains("emulated"));
    }

    #[test]
    fn only_names_of_drives_themselves_last() {
        assert!(has_lasting_name(&device(DISK)) && !has_lasting_name(&ram()));
        for name in [
            "/dev/sdb",
            "/dev/disk/by-diskseq/7",
            "/dev/disk/by-path/x",
            "/dev/disk/by-id/../../sdb",
            "/dev/disk/by-id/..",
            "/dev/disk/by-id/a/../../../sdb",
            "/dev/disk/by-idle",
        ] {
            assert!(!has_lasting_name(&device(name)), "{name}");
        }
    }

    #[test]
    fn variants_come_before_the_ranking_and_only_what_is_secure() {
        let mut fast = with("aes-ctr-plain64 256", 0.9, 512, false);
        fast.verdict = Verdict::Insecure;
        let ranking = [with("aes-xts-plain64 256", 0.8, 512, false), fast.clone()];
        let slow = with("camellia-xts-plain64 512", 0.2, 512, true);
        let variants = [slow, fast.clone()];
        let found = |variants: &[Measured]| {
            let found = recommend(&ranking, variants, &ram(), false).expect("one is secure");
            assert!(found.why.starts_with("The only secure candidate:"));
            (found.spec.to_string(), found.options)
        };
        assert_eq!(found(&variants).0, "camellia-xts-plain64 512");
        let of_ranking = ("aes-xts-plain64 256".into(), Options::PLAIN);
        assert_eq!(found(&variants[1..]), of_ranking);
        assert!(recommend(&[fast], &[], &ram(), false).is_none());
    }

    #[test]
    fn why_it_was_chosen() {
        let aes = |part| with("aes-xts-plain64 512", part, 512, false);
        let mut fastest = with("camellia-xts-plain64 512", 0.5, 4096, true);
        fastest.score += 0.01;
        let only = "The only secure candidate: 50 % of the speed without encryption.";
        let first = "The fastest of 2 secure candidates in the final round: 70 % of the speed without encryption.";
        let level = "It is about as fast as camellia-xts-plain64 512 with sectors of 4096 bytes, no work queues \
                     (50 % against 51 %), and its cipher is AES.";
        for (ranking, why) in [
            (vec![aes(0.5)], only),
            (vec![aes(0.5), aes(0.7)], first),
            (vec![fastest, aes(0.5)], level),
        ] {
            let found = recommend(&ranking, &[], &ram(), false).expect("one is secure");
            assert_eq!(found.why, why);
        }
    }
}
