//! Compares `squall dmcrypt list` with the kernel's own answers, and checks its verdicts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{BARE, GuestSession, Workspace};

pub const TESTS: &[Test] = tests![
    the_list_is_what_the_kernel_accepts: [USER_MODE],
    the_list_depends_on_the_available_modules: [USER_MODE],
];

fn the_list_is_what_the_kernel_accepts() {
    let workspace = Workspace::new();
    let mut session = workspace.boot(BARE, Vec::new(), true);
    load_modules(&mut session);
    // The kernel would start modprobe for each of thousands of names, most of which no module provides.
    session.load_no_more();
    let list = listed(&mut session);
    let is_authenticated = |entry: &Entry| !entry.integrity.is_empty();
    let (authenticated, plain): (Vec<_>, Vec<_>) = list.into_iter().partition(is_authenticated);
    authenticated_ones_are_what_the_kernel_accepts(&mut session, &authenticated);
    dmsetup_gets_the_same_answers(&mut session, &plain);
    // All that was found by hand on Linux 6.12 and the modules of Linux 7.2 have, other digests, modes and lengths.
    assert_eq!(plain.len(), 5908);
    assert_eq!(secure(&plain), BTreeSet::from(SECURE.map(str::to_owned)));
    only_ecb_has_several_names(&plain);
}

/// Loads all modules that a table can need.
fn load_modules(session: &mut GuestSession) {
    // Loading tcrypt runs tests and then fails.
    session.ok(
        "cd /lib/modules/*/kernel && find . -path '*crypto/*' ! -name 'tcrypt.*' -o -name 'dm-*.ko*' |
            sed -n 's,.*/\\(.*\\)[.]ko.*,\\1,p' | xargs modprobe -a",
    );
}

#[derive(Clone, Debug, Deserialize)]
struct Entry {
    specification: String,
    cipher: String,
    mode: String,
    iv: String,
    digest: String,
    key_bits: usize,
    integrity: String,
    verdict: String,
    rules: String,
    same_as: String,
}

impl Entry {
    /// The name with the key's bits and what authenticates, as in the text output.
    fn shown(&self) -> String {
        let Entry {
            specification,
            key_bits,
            integrity,
            ..
        } = self;
        let shown = format!("{specification} {key_bits} {integrity}");
        shown.trim_end().to_owned()
    }
}

/// The list of everything that this kernel accepts, which text, JSON and CSV show alike.
#[track_caller]
fn listed(session: &mut GuestSession) -> Vec<Entry> {
    let arguments = "dmcrypt list --export-json /tmp/list.json --export-csv /tmp/list.csv";
    let text = session.squall(arguments).success();
    session.nothing_is_left();
    assert_eq!(session.ok("dmsetup ls"), "No devices found\n");
    let csv = session.read("/tmp/list.csv");
    let list: Result<Vec<Entry>, _> = csv::Reader::from_reader(&csv[..]).deserialize().collect();
    let list = list.expect("a list");
    let report = session.json("/tmp/list.json");
    assert_eq!(report["format"], "squall-dmcrypt-list/1");
    for (key, expected) in [("is_complete", true), ("has_integrity", true)] {
        assert_eq!(report[key], expected, "{key}");
    }
    // The guest is user-mode Linux.
    assert_eq!(report["machine"]["is_emulated"], true);
    // Of hundreds of thousands of candidates most are known to be impossible from other answers.
    let tried = report["tried"].as_u64().expect("a number");
    assert!((list.len() as u64..40_000).contains(&tried), "{tried}");
    let accepted = report["accepted"].as_array().expect("a list");
    let verdict = |entry: &Value| entry["verdict"].as_str().map(str::to_owned);
    let verdicts = accepted.iter().filter_map(verdict);
    assert!(verdicts.eq(list.iter().map(|entry| entry.verdict.clone())));
    let counts = format!(
        "{} specifications accepted of {} that were tried: {} secure",
        list.len(),
        report["tried"],
        list.iter().filter(|it| it.verdict == "secure").count(),
    );
    contains(&text, &[&counts]);
    list
}

/// The secure specifications, one line for each without its digest, because digests with the same key
/// lengths are equivalent.
fn secure(list: &[Entry]) -> BTreeSet<String> {
    let mut lengths: BTreeMap<(String, &str), Vec<usize>> = BTreeMap::new();
    for entry in list.iter().filter(|entry| entry.verdict == "secure") {
        assert_eq!(entry.rules, "");
        let name = format!("{}-{}-{}", entry.cipher, entry.mode, entry.iv);
        let key = (name, entry.digest.as_str());
        lengths.entry(key).or_default().push(entry.key_bits);
    }
    let mut digests: BTreeMap<(String, Vec<usize>), Vec<&str>> = BTreeMap::new();
    for ((name, digest), bits) in lengths {
        digests.entry((name, bits)).or_default().push(digest);
    }
    let line = |((name, bits), digests): ((String, Vec<usize>), Vec<&str>)| {
        let line = format!("{name} {bits:?} {}", digests.join(" "));
        line.trim_end().to_owned()
    };
    digests.into_iter().map(line).collect()
}

/// All secure specifications in Linux 7.2 of Debian; its Linux 6.12 has the same.
const SECURE: [&str; 16] = [
    "aes-cbc-essiv [128, 192, 256] blake2b-256 sha256 sha3-256 wp256",
    "aes-xts-plain64 [256, 384, 512]",
    "camellia-cbc-essiv [128, 192, 256] blake2b-256 sha256 sha3-256 wp256",
    "camellia-xts-plain64 [256, 384, 512]",
    "cast6-cbc-essiv [128, 160, 192, 224, 256] blake2b-256 sha256 sha3-256 wp256",
    "cast6-cbc-essiv [128, 160, 192, 224] sha224 sha3-224",
    "cast6-cbc-essiv [128, 160] blake2b-160",
    "cast6-xts-plain64 [256, 320, 384, 448, 512]",
    "serpent-cbc-essiv [128, 160, 192, 224, 256] blake2b-256 sha256 sha3-256 wp256",
    "serpent-cbc-essiv [128, 160, 192, 224] sha224 sha3-224",
    "serpent-cbc-essiv [128, 160] blake2b-160",
    "serpent-xts-plain64 [256, 288, 320, 352, 384, 416, 448, 480, 512]",
    "twofish-cbc-essiv [128, 192, 256] blake2b-256 sha256 sha3-256 wp256",
    "twofish-xts-plain64 [256, 384, 512]",
    "xchacha12,aes-adiantum-plain64 [256]",
    "xchacha20,aes-adiantum-plain64 [256]",
];

/// Only ECB is listed under several names; the main one is in the list and stands for itself.
fn only_ecb_has_several_names(list: &[Entry]) {
    let names: BTreeSet<String> = list.iter().map(Entry::shown).collect();
    for entry in list {
        let main = match (entry.mode.as_str(), entry.iv.as_str()) {
            ("ecb", "null") => String::new(),
            ("ecb", _) => format!("{}-ecb-null {}", entry.cipher, entry.key_bits),
            _ => String::new(),
        };
        assert_eq!(entry.same_as, main, "{entry:?}");
        assert!(main.is_empty() || names.contains(&main), "{main}");
    }
}

/// Mode, cipher, IV with its digest, and bits of key.
type Spec = (String, String, String, usize);

/// Number of samples for each mode and cipher, both of accepted and of refused specifications.
const OF_EACH: usize = 4;

/// Names that neither this kernel nor any of its modules has.
const ABSENT_CIPHERS: [&str; 4] = ["aria", "fcrypt", "sm4", "speck"];
const ABSENT_MODES: [&str; 6] = ["cfb", "hctr2", "kw", "ofb", "pcbc", "xctr"];

/// Digests whose length is no cipher's key length, and one that does not exist.
const USELESS_IVS: [&str; 3] = ["essiv:sha512", "essiv:streebog512", "essiv:tgr192"];

/// Asks the kernel about a sample of what is listed and of what is not, through dmsetup, by loading each table over a
/// device that refuses all transfers.
fn dmsetup_gets_the_same_answers(session: &mut GuestSession, list: &[Entry]) {
    let sample = sample(list);
    let tables: Vec<String> = sample.iter().map(|(spec, _)| table(spec)).collect();
    session.write("/tmp/tables", tables.join("\n") + "\n");
    session.ok("dmsetup create base --table '0 2048 error' && dmsetup create asked --notable");
    let answers = session.ok("while read -r table; do
            dmsetup load asked --table \"$table\" >/dev/null 2>&1 && echo yes || echo no
        done </tmp/tables");
    session.ok("dmsetup remove asked && dmsetup remove base");
    let answers: Vec<bool> = answers.lines().map(|line| line == "yes").collect();
    assert_eq!(answers.len(), sample.len());
    let pairs = sample.iter().zip(&answers);
    let differing: Vec<_> = pairs
        .filter(|((_, is_listed), answer)| is_listed != *answer)
        .collect();
    assert!(differing.is_empty(), "{differing:?}");
    let accepted = answers.iter().filter(|answer| **answer).count();
    let refused = answers.len() - accepted;
    assert!(accepted > 250 && refused > 350, "{accepted} and {refused}");
}

/// A sample: specifications, and whether they are in the list.
fn sample(list: &[Entry]) -> Vec<(Spec, bool)> {
    let spec = |entry: &Entry| {
        let iv = format!("{}:{}", entry.iv, entry.digest);
        let iv = iv.trim_end_matches(':').to_owned();
        (entry.mode.clone(), entry.cipher.clone(), iv, entry.key_bits)
    };
    let accepted: BTreeSet<Spec> = list.iter().map(spec).collect();
    let listed: BTreeSet<&str> = accepted.iter().map(|(_, _, iv, _)| iv.as_str()).collect();
    let ivs: BTreeSet<&str> = listed.into_iter().chain(USELESS_IVS).collect();
    let lengths: BTreeSet<usize> = accepted.iter().map(|(.., bits)| *bits).collect();
    let modes = accepted.iter().map(|(mode, ..)| mode.as_str());
    let modes: BTreeSet<&str> = modes.chain(ABSENT_MODES).collect();
    let ciphers = accepted.iter().map(|(_, cipher, ..)| cipher.as_str());
    let ciphers: BTreeSet<&str> = ciphers.chain(ABSENT_CIPHERS).collect();
    let mut sample = Vec::new();
    for mode in &modes {
        for cipher in &ciphers {
            let is_of = |spec: &&Spec| (spec.0.as_str(), spec.1.as_str()) == (*mode, *cipher);
            let taken: Vec<Spec> = accepted.iter().filter(is_of).cloned().collect();
            // Loop-AES's IV with a name of the crypto API would take several keys.
            let ivs = ivs.iter().filter(|iv| **iv != "lmk" || !mode.contains('('));
            let all = ivs.flat_map(|iv| lengths.iter().map(|bits| (*iv, *bits)));
            let all = all.map(|(iv, bits)| {
                let (mode, cipher) = ((*mode).to_owned(), (*cipher).to_owned());
                (mode, cipher, iv.to_owned(), bits)
            });
            let others = all.filter(|spec| !accepted.contains(spec)).collect();
            // One question shows that a mode and a cipher do not go together.
            let of_others = if taken.is_empty() { 1 } else { OF_EACH };
            sample.extend(spread(taken, OF_EACH).map(|spec| (spec, true)));
            sample.extend(spread(others, of_others).map(|spec| (spec, false)));
        }
    }
    sample
}

/// Picks `count` of `all`, evenly spread.
fn spread(all: Vec<Spec>, count: usize) -> impl Iterator<Item = Spec> {
    let step = all.len().div_ceil(count).max(1);
    let offset = all.len() % step;
    all.into_iter().skip(offset.min(step / 2)).step_by(step)
}

/// A table whose key contains no byte twice.
fn table((mode, cipher, iv, key_bits): &Spec) -> String {
    let name = match mode.split_once('(') {
        None => format!("{cipher}-{mode}-{iv}"),
        Some((outer, inner)) => {
            let inner = inner.trim_end_matches(')');
            format!("capi:{outer}({inner}({cipher}))-{iv}")
        }
    };
    let byte = |number: usize| format!("{:02x}", (number * 167 + 13) % 256);
    let key: String = (0..key_bits / 8).map(byte).collect();
    let key = if key.is_empty() { "-" } else { &key };
    format!("0 2048 crypt {name} {key} 0 /dev/mapper/base 0")
}

/// Authenticated ones that are asked about: the specification, its cipher field, the length of its key in bytes and of
/// the metadata of a sector. Some are refused.
#[rustfmt::skip]
const ASKED: [(&str, &str, usize, usize); 17] = [
    ("aegis128-random 128 aead", "aegis128-random", 16, 32),
    ("aegis128-random 256 aead", "aegis128-random", 32, 32),
    ("aes-gcm-random 128 aead", "gcm(aes)-random", 16, 28),
    ("aes-gcm-random 256 aead", "gcm(aes)-random", 32, 28),
    ("aes-gcm-random 512 aead", "gcm(aes)-random", 64, 28),
    ("blowfish-gcm-random 128 aead", "gcm(blowfish)-random", 16, 28),
    ("camellia-gcm-random 192 aead", "gcm(camellia)-random", 24, 28),
    ("cast6-gcm-random 256 aead", "gcm(cast6)-random", 32, 28),
    ("serpent-gcm-random 256 aead", "gcm(serpent)-random", 32, 28),
    ("twofish-gcm-random 320 aead", "gcm(twofish)-random", 40, 28),
    ("chacha20-random 128 poly1305", "rfc7539(chacha20,poly1305)-random", 16, 28),
    ("chacha20-random 256 poly1305", "rfc7539(chacha20,poly1305)-random", 32, 28),
    ("aes-xts-plain64 512 hmac-sha256", "authenc(hmac(sha256),xts(aes))-plain64", 96, 32),
    ("aes-xts-plain64 512 hmac-sha512", "authenc(hmac(sha512),xts(aes))-plain64", 128, 64),
    ("aes-cbc-essiv:sha256 256 hmac-sha256", "authenc(hmac(sha256),cbc(aes))-essiv:sha256", 64, 32),
    ("twofish-xts-plain64 320 hmac-sha256", "authenc(hmac(sha256),xts(twofish))-plain64", 72, 32),
    (
        "xchacha20,aes-adiantum-plain64 256 hmac-sha256",
        "authenc(hmac(sha256),adiantum(xchacha20,aes))-plain64",
        64,
        32,
    ),
];

/// HMACs stand over what is secure alone, and nothing else than AEGIS is secure besides.
fn authenticated_ones_are_what_the_kernel_accepts(session: &mut GuestSession, list: &[Entry]) {
    let is_meant = |entry: &Entry| {
        entry.integrity.starts_with("hmac-") || entry.shown() == "aegis128-random 128 aead"
    };
    for entry in list {
        assert_eq!(entry.verdict == "secure", is_meant(entry), "{entry:?}");
    }
    session.ok("dmsetup create zeros --table '0 32768 zero'");
    session.ok("dmsetup create asked --notable");
    for (shown, cipher, key, metadata) in ASKED {
        let tags = format!("0 2048 integrity /dev/mapper/zeros 0 {metadata} D 0");
        session.ok(&format!("dmsetup create tags --table '{tags}'"));
        let key = "5a".repeat(key);
        let table = format!(
            "0 2048 crypt capi:{cipher} {key} 0 /dev/mapper/tags 0 1 integrity:{metadata}:aead"
        );
        let load = format!("dmsetup load asked --table '{table}' >/dev/null 2>&1");
        let answer = session.ok(&format!(
            "{load} && echo yes || echo no; dmsetup clear asked"
        ));
        session.ok("dmsetup remove tags");
        let is_listed = list.iter().any(|entry| entry.shown() == shown);
        assert_eq!(answer.trim() == "yes", is_listed, "{shown}");
    }
    session.ok("dmsetup remove asked && dmsetup remove zeros");
}

/// The list loads the modules that it asks for, and leaves out what no module provides.
fn the_list_depends_on_the_available_modules() {
    let workspace = Workspace::new();
    let modules = [BARE, &["essiv", "twofish_generic", "wp512"][..]].concat();
    let mut session = workspace.boot_with(&modules, Vec::new());
    let loader = session.ok("cat /proc/sys/kernel/modprobe");
    let targets = "dm-crypt dm-integrity dm-zero";
    session.ok(&format!("modprobe -a {targets}"));
    session.load_no_more();
    let bare = listed(&mut session);
    assert_eq!(
        algorithms(&bare),
        BTreeSet::from(BUILT_IN.map(str::to_owned))
    );
    assert!(bare.iter().all(|entry| entry.digest.is_empty()));

    session.ok(&format!("modprobe -r {targets}"));
    session.write("/proc/sys/kernel/modprobe", &loader);
    let loaded = session.ok("cat /proc/modules");
    assert!(!loaded.contains("twofish") && !loaded.contains("dm_crypt"));
    let list = listed(&mut session);
    let expected = [BUILT_IN, WITH_MODULES].concat();
    assert_eq!(
        algorithms(&list),
        expected.into_iter().map(str::to_owned).collect()
    );
    assert!(list.iter().any(|entry| entry.digest == "wp256"));
    contains(
        &session.ok("cat /proc/modules"),
        &["essiv", "twofish_generic", "wp512", "dm_crypt"],
    );
}

/// What every guest has, and what twofish's module adds.
const BUILT_IN: [&str; 2] = ["cbc(aes)", "ecb(aes)"];
const WITH_MODULES: [&str; 2] = ["cbc(twofish)", "ecb(twofish)"];

fn algorithms(list: &[Entry]) -> BTreeSet<String> {
    let plain = list.iter().filter(|entry| entry.integrity.is_empty());
    plain
        .map(|entry| format!("{}({})", entry.mode, entry.cipher))
        .collect()
}
