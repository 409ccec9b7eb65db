//! Tests of the lines, the notes, and the choice between the two lists.

use super::*;
use crate::model::Options;
use crate::rank::tests::measured;
use crate::rules::Verdict;

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

#[test]
fn lines_with_every_option() {
    let variants = [
        with("aes-xts-plain64 512", 0.5, 512, false),
        with("aes-xts-plain64 512", 0.7, 4096, true),
    ];
    let backing = device("/dev/disk/by-id/nvme-DISK_1");
    let found = recommend_on(&[], &variants, &backing, false).expect("one is secure");
    assert_eq!(
        found.swap,
        "swap /dev/disk/by-id/nvme-DISK_1 /dev/urandom swap,plain,cipher=aes-xts-plain64,size=512,\
         sector-size=4096,no-read-workqueue,no-write-workqueue"
    );
    assert_eq!(
        found.luks_format,
        "cryptsetup luksFormat --type luks2 --cipher aes-xts-plain64 --key-size 512 \
         --sector-size 4096 /dev/disk/by-id/nvme-DISK_1"
    );
    assert_eq!(
        found.luks_open,
        "cryptsetup open --perf-no_read_workqueue --perf-no_write_workqueue --persistent \
         /dev/disk/by-id/nvme-DISK_1 volume"
    );
    assert_eq!(
        found.luks_crypttab,
        "volume /dev/disk/by-id/nvme-DISK_1 none luks"
    );
    assert_eq!(
        found.why,
        "The fastest of 2 secure candidates in the final round: 70 % of the speed without encryption."
    );
    assert_eq!(found.notes.len(), 4);
}

#[test]
fn the_same_cpu_is_in_the_lines() {
    let mut same = with("aes-xts-plain64 512", 0.7, 512, false);
    same.options.same_cpu = true;
    let backing = device("/dev/disk/by-id/nvme-DISK_1");
    let found = recommend_on(&[], &[same], &backing, false).expect("one is secure");
    assert_eq!(
        found.swap,
        "swap /dev/disk/by-id/nvme-DISK_1 /dev/urandom swap,plain,cipher=aes-xts-plain64,size=512,\
         same-cpu-crypt"
    );
    assert_eq!(
        found.luks_open,
        "cryptsetup open --perf-same_cpu_crypt --persistent /dev/disk/by-id/nvme-DISK_1 volume"
    );
}

#[test]
fn plain_lines_name_no_device_of_memory() {
    let ranking = [with("aes-cbc-essiv:sha256 256", 0.5, 512, false)];
    let found = recommend_on(&ranking, &[], &ram(), false).expect("one is secure");
    assert_eq!(
        found.swap,
        "swap /dev/disk/by-id/DEVICE /dev/urandom \
         swap,plain,cipher=aes-cbc-essiv:sha256,size=256"
    );
    assert_eq!(
        found.luks_format,
        "cryptsetup luksFormat --type luks2 --cipher aes-cbc-essiv:sha256 --key-size 256 \
         --sector-size 512 /dev/disk/by-id/DEVICE"
    );
    assert_eq!(
        found.luks_open,
        "cryptsetup open /dev/disk/by-id/DEVICE volume"
    );
    assert!(found.why.starts_with("The only secure candidate: "));
    assert!(found.notes[0].contains("measured over memory"));
}

/// Commas separate options and spaces separate fields; Debian's scripts read octal numbers in both.
#[test]
fn what_separates_is_escaped() {
    let ranking = [with("xchacha12,aes-adiantum-plain64 256", 0.5, 512, false)];
    let found =
        recommend_on(&ranking, &[], &device("/dev/disk/by-id/a disk's"), false).expect("one");
    assert_eq!(
        found.swap,
        "swap /dev/disk/by-id/a\\040disk's /dev/urandom \
         swap,plain,cipher=xchacha12\\054aes-adiantum-plain64,size=256"
    );
    assert_eq!(
        found.luks_format,
        "cryptsetup luksFormat --type luks2 --cipher xchacha12,aes-adiantum-plain64 \
         --key-size 256 --sector-size 512 '/dev/disk/by-id/a disk'\\''s'"
    );
    assert!(found.notes.iter().any(|note| note.contains("\\054")));
}

#[test]
fn key_slots_with_adiantum_take_a_module() {
    for (text, takes) in [
        ("xchacha20,aes-adiantum-plain64 256", true),
        ("aes-xts-plain64 512", false),
    ] {
        let ranking = [with(text, 0.5, 512, false)];
        let found = recommend_on(&ranking, &[], &ram(), false).expect("one is secure");
        let said = |note: &String| note.contains("algif_skcipher");
        assert_eq!(found.notes.iter().any(said), takes, "{text}");
    }
}

/// The line would overwrite whatever drive has the name after the next boot.
#[test]
fn names_that_do_not_last_are_not_in_lines() {
    let ranking = [with("aes-xts-plain64 512", 0.5, 512, false)];
    for name in [
        "/dev/sdb",
        "/dev/disk/by-diskseq/7",
        "/dev/disk/by-path/x",
        "/dev/disk/by-id/../../sdb",
        "/dev/disk/by-id/..",
        "/dev/disk/by-id/a/../../../sdb",
        "/dev/disk/by-idle",
        "sdb",
    ] {
        let found = recommend_on(&ranking, &[], &device(name), false).expect("one");
        for line in [
            &found.swap,
            &found.luks_format,
            &found.luks_open,
            &found.luks_crypttab,
        ] {
            assert!(
                line.contains(" /dev/disk/by-id/DEVICE") && !line.contains(name),
                "{line}"
            );
        }
        let said = |note: &String| note.contains("below /dev/disk/by-id");
        assert!(found.notes.iter().any(said));
    }
}

#[test]
fn variants_come_before_the_ranking_and_only_what_is_secure() {
    let mut fast = with("aes-ctr-plain64 256", 0.9, 512, false);
    fast.verdict = Verdict::Insecure;
    let ranking = [with("aes-xts-plain64 256", 0.8, 512, false), fast.clone()];
    let variants = [
        with("camellia-xts-plain64 512", 0.2, 512, true),
        fast.clone(),
    ];
    let found = |variants: &[Measured]| {
        let found = recommend_on(&ranking, variants, &ram(), false).expect("one is secure");
        (found.spec.to_string(), found.options)
    };
    assert_eq!(found(&variants).0, "camellia-xts-plain64 512");
    assert_eq!(
        found(&variants[1..]),
        ("aes-xts-plain64 256".into(), Options::PLAIN)
    );
    assert!(recommend_on(&[fast], &[], &ram(), false).is_none());
}

#[test]
fn why_the_fastest_gave_way() {
    let mut fastest = with("camellia-xts-plain64 512", 0.5, 4096, true);
    fastest.score += 0.01;
    let ranking = [fastest, with("aes-xts-plain64 512", 0.5, 512, false)];
    let found = recommend_on(&ranking, &[], &ram(), false).expect("one is secure");
    assert_eq!(
        found.why,
        "It is about as fast as camellia-xts-plain64 512 with sectors of 4096 bytes without work \
         queues (50 % against 51 %), and its cipher is AES."
    );
}

#[test]
fn an_emulated_machine_is_noted_first() {
    let ranking = [with("aes-xts-plain64 512", 0.5, 512, false)];
    let first = |is_emulated| {
        let found = recommend_on(&ranking, &[], &ram(), is_emulated).expect("one is secure");
        found.notes[0].contains("emulated")
    };
    assert!(first(true) && !first(false));
}
