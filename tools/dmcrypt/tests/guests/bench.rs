//! `squall dmcrypt bench` over memory and over a drive: its reports; data written through its devices is encrypted; and
//! authenticated devices notice what was changed below them, and are those that cryptsetup makes.

use serde_json::{Value, json};
use squall_guests::Job;
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{
    GuestSession, LOAD_USUAL, MEASURED, MIB, NAMES, SERIAL, USUAL, Workspace, id,
};

pub const TESTS: &[Test] = tests![
    memory_is_measured_and_freed: [USER_MODE],
    data_written_through_a_device_is_encrypted: [USER_MODE],
    changed_sectors_are_noticed_and_nothing_is_left: [USER_MODE],
    devices_are_those_of_cryptsetup: [USER_MODE],
];

const QUICK: &str = "--size 16MiB --rounds 2 --sample 5";

const WORKLOADS: usize = 8;

fn memory_is_measured_and_freed() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, Vec::new());
    let ciphers = "--cipher 'aes-xts-plain64 512' --cipher 'aes-cbc-essiv:sha256 256'";
    let reports = "--export-json /tmp/b.json --export-csv /tmp/b.csv --export-html /tmp/b.html";
    let text = session
        .squall(&format!("dmcrypt bench {QUICK} {ciphers} {reports}"))
        .success();
    session.nothing_is_left();
    let report = session.json("/tmp/b.json");
    is_whole(&report, 2);
    assert_eq!(names(&report["ranking"]).len(), 2);
    let backing = json!({ "kind": "ram", "name": "/dev/ram0", "bytes": 16 * MIB, "sector": 512 });
    assert_eq!(report["backing"], backing);
    contains(
        &text,
        &[
            "EMULATED: This machine is emulated, or user-mode Linux",
            "aes-xts-plain64 ",
            "aes-cbc-essiv:sha256 ",
            "/dev/disk/by-id/DEVICE",
        ],
    );
    let lines = session.text("/tmp/b.csv").lines().count();
    // Of each cipher only the better specification is measured with other options.
    assert_eq!(lines, 1 + WORKLOADS * (1 + 2 + 6));
    contains(
        &session.text("/tmp/b.html"),
        &["<svg", "aes-xts-plain64", "aes-cbc-essiv:sha256"],
    );

    all_secure_specifications_are_measured(&mut session);
}

/// Without a choice of ciphers, all secure ones are measured, with one digest of each kind.
fn all_secure_specifications_are_measured(session: &mut GuestSession) {
    session.ok(LOAD_USUAL);
    session.load_no_more();
    // squall loads brd by its name; the kernel cannot load it any more.
    // Each of the ten authenticated devices needs 8 MiB.
    let once = "--size 80MiB --rounds 1 --sample 1 --export-json /tmp/all.json";
    session.squall(&format!("dmcrypt bench {once}")).success();
    session.nothing_is_left();
    let report = session.json("/tmp/all.json");
    is_whole(&report, 1);
    let mut measured = names(&report["ranking"]);
    measured.sort();
    assert_eq!(measured, SECURE);
    authenticated_ones_are_measured_beside_the_best(&report);
    let left_out = report["left_out"].as_array().expect("a list");
    let rules: Vec<&str> = left_out
        .iter()
        .filter_map(|it| it["rule"].as_str())
        .collect();
    assert!(
        rules.contains(&"ecb") && rules.contains(&"predictable-iv"),
        "{rules:?}"
    );
}

/// The specifications that are secure with the usual modules.
const SECURE: [&str; 8] = [
    "aes cbc essiv 128",
    "aes cbc essiv 192",
    "aes cbc essiv 256",
    "aes xts plain64 256",
    "aes xts plain64 384",
    "aes xts plain64 512",
    "xchacha12,aes adiantum plain64 256",
    "xchacha20,aes adiantum plain64 256",
];

/// The authenticated ones are measured with a journal and without, beside one that is not.
#[track_caller]
fn authenticated_ones_are_measured_beside_the_best(report: &Value) {
    let all = report["authenticated"].as_array().expect("a list");
    let mut found: Vec<(String, Value)> = all
        .iter()
        .filter(|it| !it["integrity"].is_null())
        .map(|it| {
            assert_eq!(it["options"]["sector_size"], 4096);
            let name = format!("{} {}", it["cipher"], it["integrity"]).replace('"', "");
            (name, it["options"]["journal"].clone())
        })
        .collect();
    found.sort_by_key(|(name, journal)| (name.clone(), journal.as_bool()));
    let names = [
        "aegis128 aead",
        "aes aead",
        "aes hmac-sha256",
        "chacha20 poly1305",
    ];
    let both = |name: &str| [false, true].map(|journal| (name.to_owned(), json!(journal)));
    assert_eq!(found, names.map(both).concat());
    assert_eq!(all.len(), found.len() + 1);
    let beside = all.iter().find(|it| it["integrity"].is_null());
    assert_eq!(beside.expect("one")["options"]["journal"], Value::Null);
}

/// Checks that everything was measured, that the raw device's ratio to itself is 1, and that there is a
/// recommendation.
#[track_caller]
fn is_whole(report: &Value, rounds: usize) {
    for (key, expected) in [
        ("format", json!("squall-dmcrypt-bench/1")),
        ("is_complete", json!(true)),
        ("failures", json!([])),
        ("rounds", json!(rounds)),
    ] {
        assert_eq!(report[key], expected, "{key}");
    }
    // The guest is user-mode Linux.
    assert_eq!(report["machine"]["is_emulated"], true);
    let of = |value: &Value| value.as_array().expect("a list").clone();
    assert_eq!(of(&report["workloads"]).len(), WORKLOADS);
    let mut raw = of(&report["raw"]).into_iter();
    assert!(raw.all(|figure| figure["ratio"]["median"] == 1.0));
    for measured in ["ranking", "variants", "authenticated"]
        .map(|part| of(&report[part]))
        .concat()
    {
        let figures = of(&measured["figures"]);
        assert_eq!(figures.len(), WORKLOADS);
        for figure in figures {
            assert_eq!(of(&figure["samples"]).len(), rounds);
            assert!(figure["rate"]["median"].as_f64() > Some(0.0), "{figure}");
            let [p50, p99] = ["p50_ns", "p99_ns"].map(|key| figure["latency"][key].as_f64());
            assert!(Some(0.0) < p50 && p50 <= p99, "{figure}");
        }
    }
    assert!(!of(&report["variants"]).is_empty());
    assert!(report["recommendation"]["why"].is_string());
}

/// The specifications that were measured, without digests.
fn names(measured: &Value) -> Vec<String> {
    let name = |it: &Value| {
        let parts = [
            &it["cipher"],
            &it["mode"],
            &it["iv"]["name"],
            &it["key_bits"],
        ];
        parts.map(Value::to_string).join(" ").replace('"', "")
    };
    measured
        .as_array()
        .expect("a list")
        .iter()
        .map(name)
        .collect()
}

/// Stops a run in the middle. Text written through its device is not on the drive. It can be read
/// through a second device with the same key, made by dmsetup, but not with another key. Another run ends.
fn data_written_through_a_device_is_encrypted() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 24)]);
    session.start_udev();
    let drive = id(SERIAL);
    let bench =
        format!("dmcrypt bench --device {drive} --yes --cipher 'aes-xts-plain64 512' --size 16MiB");
    let endless = session.start(&format!("{bench} --rounds 10000 --sample 5"));
    session.until_device(MEASURED);
    session.until_requests(1);
    session.ok("kill -s STOP $(pidof squall)");
    let table = session.ok(&format!(
        "dmsetup table --showkeys $({NAMES} | grep -E '^squall-.*-[0-9]+$')"
    ));
    let key = table.split(' ').nth(4).expect("a key").to_owned();
    let number = session.ok("cat /sys/block/ubda/dev");
    let over = format!(" 0 {} 0", number.trim());
    contains(&table, &["0 32768 crypt aes-xts-plain64 ", &over]);
    assert_eq!(key.len(), 128, "{table}");
    second_devices(&mut session, &table, &key);
    compare(&mut session);
    session.ok("dmsetup remove same && dmsetup remove other");
    session.ok("kill -s KILL $(pidof squall)");
    assert_eq!(session.end(endless).status, 128 + 9);
    // udev locks the drive while it reads it.
    session.ok("udevadm settle");

    let once = format!("{bench} --rounds 1 --sample 5 --export-json /tmp/b.json");
    session.squall(&once).success();
    session.nothing_is_left();
    let report = session.json("/tmp/b.json");
    is_whole(&report, 1);
    assert_eq!(report["backing"]["name"], drive);
    assert_eq!(report["backing"]["kind"], "device");
    session.ok("sync");
    drop(session);
    is_overwritten_exactly_as_far_as_requested(&workspace.medium(SERIAL));
}

/// Makes two devices with the run's table: `same` with its key, and `other` with another key.
fn second_devices(session: &mut GuestSession, table: &str, key: &str) {
    let other: String = key.chars().rev().collect();
    assert_ne!(other, key);
    for (name, table) in [
        ("same", table.to_owned()),
        ("other", table.replace(key, &other)),
    ] {
        session.write("/tmp/table", table);
        session.ok(&format!("dmsetup create {name} /tmp/table"));
    }
}

/// Compares text that is written through the run's device, and everything that the run has written.
fn compare(session: &mut GuestSession) {
    session.ok("yes 'plaintext that nobody may read' | head -c 1048576 >/tmp/text");
    session.ok(&format!(
        "name=$({NAMES} | grep -E '^squall-.*-[0-9]+$')
        ln -s /dev/dm-$(dmsetup info -c --noheadings -o minor $name) /tmp/ours
        dd if=/tmp/text of=/tmp/ours bs=1M oflag=direct conv=notrunc,fsync"
    ));
    session.ok("for name in same other; do
            dd if=/dev/mapper/$name of=/tmp/$name bs=1M iflag=direct
        done
        dd if=/dev/ubda of=/tmp/raw bs=1M count=16 iflag=direct
        dd if=/tmp/ours of=/tmp/ours.bytes bs=1M iflag=direct");
    let ours = session.read("/tmp/ours.bytes");
    let text = session.read("/tmp/text");
    assert_eq!(ours.len() as u64, 16 * MIB);
    assert!(ours.starts_with(&text));
    assert!(
        session.read("/tmp/same") == ours,
        "the same key reads the same"
    );
    for other in ["other", "raw"] {
        let bytes = session.read(&format!("/tmp/{other}"));
        assert_eq!(bytes.len(), ours.len());
        let sectors = bytes.chunks(512).zip(ours.chunks(512));
        let equal = sectors.filter(|(one, other)| one == other).count();
        assert_eq!(equal, 0, "{other} has sectors of the plaintext");
        let has_text = bytes.windows(16).any(|window| window == &text[..16]);
        assert!(!has_text, "{other} has words of the plaintext");
    }
}

/// Checks that no sector in the requested part is still empty, and that no sector after it was changed.
fn is_overwritten_exactly_as_far_as_requested(medium: &[u8]) {
    let is_empty = |sector: &[u8]| sector.iter().all(|byte| *byte == 0);
    let (used, rest) = medium.split_at(16 * MIB as usize);
    let empty = used.chunks(512).filter(|sector| is_empty(sector)).count();
    assert_eq!(empty, 0, "sectors are empty");
    assert_eq!(rest.len() as u64, 8 * MIB);
    assert!(is_empty(rest), "more was overwritten than was to be");
}

/// What programs say where dm-crypt finds a wrong tag: the error is EILSEQ.
const EILSEQ: &str = "Invalid or incomplete multibyte or wide character";

const GCM: &str = "--cipher 'aes-gcm-random 256 aead'";

/// The usual ones. Their words are cryptsetup's --cipher, --key-size and --integrity.
const USUAL_ONES: [&str; 4] = [
    "aegis128-random 128 aead",
    "aes-gcm-random 256 aead",
    "aes-xts-plain64 512 hmac-sha256",
    "chacha20-random 256 poly1305",
];

/// Starts a run over the drive and stops it once its second device exists: the first, with a journal, is
/// then written all over.
#[track_caller]
fn stopped(session: &mut GuestSession, cipher: &str) -> Job {
    let run = session.start(&format!(
        "dmcrypt bench --device /dev/ubda --yes --serial {SERIAL} {cipher} \
         --size 24MiB --rounds 10000 --sample 100"
    ));
    session.until_device("1");
    session.ok("kill -s STOP $(pidof squall)");
    run
}

/// A shell's expression for the name of the first device of the run, or of one below it.
fn first(suffix: &str) -> String {
    format!("$({NAMES} | grep -E '^squall-dmcrypt-[0-9]+-0{suffix}$')")
}

fn changed_sectors_are_noticed_and_nothing_is_left() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 24)]);
    let run = stopped(&mut session, GCM);
    let table = session.ok(&format!("dmsetup table {}", first("")));
    contains(
        &table,
        &[
            "crypt capi:gcm(aes)-random ",
            " 2 integrity:28:aead sector_size:4096",
        ],
    );
    let table = session.ok(&format!("dmsetup table {}", first("-integrity")));
    contains(&table, &[" integrity ", " 28 J ", "block_size:4096"]);
    session.ok(&format!(
        "dmsetup mknodes && ln -s /dev/mapper/{} /tmp/ours",
        first("")
    ));
    session.ok(&format!("ln -s /dev/mapper/{} /tmp/part", first("-part")));

    session.ok("yes 'plaintext that nobody may read' | head -c 1048576 >/tmp/text");
    session.ok("dd if=/tmp/text of=/tmp/ours bs=1M oflag=direct conv=notrunc,fsync");
    let read = "dd if=/tmp/ours of=/tmp/read bs=1M iflag=direct";
    session.ok(read);
    session.ok("cmp -n 1048576 /tmp/text /tmp/read");
    session.ok("dd if=/tmp/part of=/tmp/below bs=1M iflag=direct");
    session.ok("! grep -q 'plaintext that nobody' /tmp/below");

    // Text takes more than a mebibyte with its tags, so this is in the middle of other data. The control
    // is the reading above.
    session.ok(
        "dd if=/dev/urandom of=/tmp/part bs=4096 count=1 seek=$((4 << 20 >> 12)) oflag=direct \
         conv=notrunc,fsync",
    );
    session.ok(&format!(
        "! {read} 2>/tmp/errors && grep '{EILSEQ}' /tmp/errors"
    ));
    session.ok("cmp -n 1048576 /tmp/text /tmp/read");

    session.ok("rm /tmp/ours /tmp/part; rm -f /dev/mapper/*squall*");
    session.ok("kill -s KILL $(pidof squall)");
    assert_eq!(session.end(run).status, 128 + 9);
    session.no_device_is_left();
}

/// For each of the usual ones, the table that cryptsetup makes is the table of squall's device, but for
/// keys and device numbers.
fn devices_are_those_of_cryptsetup() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, vec![workspace.drive(SERIAL, 40)]);
    session.write("/tmp/key", "a secret");
    for spec in USUAL_ONES {
        let options = ["--cipher", "--key-size", "--integrity"]
            .into_iter()
            .zip(spec.split(' '));
        let options: Vec<String> = options
            .map(|(name, word)| format!("{name} {word}"))
            .collect();
        let options = options.join(" ");
        session.ok("dd if=/dev/zero of=/dev/ubda bs=1M count=40 conv=fsync");
        session.ok(&format!(
            "cryptsetup luksFormat -q --type luks2 {options} --sector-size 4096 \
             --integrity-no-wipe --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/ubda /tmp/key"
        ));
        session.ok("cryptsetup open --key-file /tmp/key --disable-keyring /dev/ubda volume");
        let theirs = session.ok("dmsetup table --showkeys volume");
        let their_tags = session.ok("dmsetup table volume_dif");
        session.ok("cryptsetup close volume");

        let run = stopped(&mut session, &format!("--cipher '{spec}'"));
        let ours = session.ok(&format!("dmsetup table --showkeys {}", first("")));
        let our_tags = session.ok(&format!("dmsetup table {}", first("-integrity")));
        session.ok("kill -s KILL $(pidof squall)");
        session.end(run);
        session.no_device_is_left();
        assert_eq!(shape(&ours), shape(&theirs), "{spec}");
        let metadata = |table: &str| table.split(' ').nth(5).map(str::to_owned);
        assert_eq!(
            metadata(&our_tags),
            metadata(&their_tags),
            "{our_tags}{their_tags}"
        );
    }
}

/// What a table has besides keys, lengths and devices: the cipher, the length of the key, and the
/// options, sorted.
fn shape(table: &str) -> (String, usize, Vec<String>) {
    let words: Vec<&str> = table.split_whitespace().collect();
    let mut options: Vec<String> = words[9..].iter().map(|word| (*word).to_owned()).collect();
    options.sort();
    (words[3].to_owned(), words[4].len(), options)
}
