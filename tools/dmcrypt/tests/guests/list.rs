//! Compares `squall dmcrypt list` with the kernel's own answers, and checks its verdicts.

mod authenticated;
mod sample;

use std::collections::{BTreeMap, BTreeSet};

use crate::guests::workspace::{BARE, GuestSession, LOAD_USUAL, USUAL, Workspace};
use sample::{Entry, List, Spec};
use squall_guests::commands::contains;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

/// Time for a test of ten minutes.
const LONG: Need = Need {
    check: || {
        std::env::var_os("SQUALL_TEST_LONG")
            .map(drop)
            .ok_or_else(|| "it takes ten minutes: set SQUALL_TEST_LONG=1".into())
    },
    required_by: NOTHING,
};

pub const TESTS: &[Test] = tests![
    the_list_is_what_the_kernel_accepts: [USER_MODE],
    the_list_depends_on_the_available_modules: [USER_MODE],
    the_shortcut_misses_nothing: [LONG, USER_MODE],
];

fn the_list_is_what_the_kernel_accepts() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with_crypto(BARE);
    load_modules(&mut session);
    // The kernel would start modprobe for each of thousands of names, most of which no module provides.
    session.load_no_more();
    let (mut list, text) = listed(&mut session, "");
    reports_the_same_list_in_every_format(&mut session, &list, &text);
    let authenticated = take_authenticated(&mut list);
    authenticated::are_what_the_kernel_accepts(&mut session, &authenticated);
    agrees(&mut session, &list);
    // All that was found by hand on Linux 6.12 and the modules of Linux 7.2 have, other digests, modes and lengths.
    assert_eq!(list.accepted.len(), 5908);
    assert_eq!(secure(&list), BTreeSet::from(SECURE.map(str::to_owned)));
    has_these_verdicts(&list);
    only_ecb_has_several_names(&list);
}

/// Loads all modules that a table can need.
fn load_modules(session: &mut GuestSession) {
    // Loading tcrypt runs tests and then fails.
    session.ok(
        "cd /lib/modules/*/kernel && find . -path '*crypto/*' ! -name 'tcrypt.*' -o -name 'dm-*.ko*' |
            sed -n 's,.*/\\(.*\\)[.]ko.*,\\1,p' | xargs modprobe -a",
    );
}

/// The list of everything that this kernel accepts, and its text.
#[track_caller]
fn listed(session: &mut GuestSession, options: &str) -> (List, String) {
    let arguments =
        format!("dmcrypt list {options} --export-json /tmp/list.json --export-csv /tmp/list.csv");
    let text = session.squall(&arguments).success();
    session.nothing_is_left();
    assert_eq!(session.ok("dmsetup ls"), "No devices found\n");
    let list = serde_json::from_slice(&session.read("/tmp/list.json"));
    (list.expect("a list"), text)
}

/// The authenticated ones, which it removes from the list.
fn take_authenticated(list: &mut List) -> Vec<Entry> {
    let is_such = |entry: &mut Entry| entry.spec.integrity.is_some();
    list.accepted.extract_if(.., is_such).collect()
}

/// Text and CSV show the same list.
fn reports_the_same_list_in_every_format(session: &mut GuestSession, list: &List, text: &str) {
    assert_eq!(list.format, "squall-dmcrypt-list/1");
    assert!(list.is_complete && !list.machine.is_emulated);
    assert!(list.tried > list.accepted.len());
    assert!(list.has_integrity);
    let secure = list.accepted.iter().filter(|it| it.verdict == "secure");
    let counts = format!(
        "{} specifications accepted of {} that were tried: {} secure",
        list.accepted.len(),
        list.tried,
        secure.count(),
    );
    contains(text, &[&counts]);
    let csv = session.text("/tmp/list.csv");
    assert_eq!(csv.lines().count(), list.accepted.len() + 1);
    contains(
        &csv,
        &[
            "\naes-xts-plain64,aes,xts,plain64,,512,,secure,,,,\n",
            "\naes-xts-plain64,aes,xts,plain64,,512,hmac-sha256,secure,,,,\n",
        ],
    );
}

/// Checks that dmsetup gets the same answers.
fn agrees(session: &mut GuestSession, list: &List) {
    let sample = sample::sample(list);
    let specs: Vec<&Spec> = sample.iter().map(|(spec, _)| spec).collect();
    let answers = sample::asked(session, &specs);
    assert_eq!(answers.len(), sample.len());
    let differs = |((_, is_listed), answer): &(&(Spec, bool), &bool)| is_listed != *answer;
    let differing: Vec<String> = sample
        .iter()
        .zip(&answers)
        .filter(differs)
        .map(|((spec, is_listed), _)| format!("{}: listed: {is_listed}", spec.shown()))
        .collect();
    assert_eq!(differing, [""; 0]);
    let accepted = answers.iter().filter(|answer| **answer).count();
    assert!(
        accepted > 250 && answers.len() - accepted > 350,
        "{accepted} of {}",
        answers.len()
    );
}

/// The secure specifications, one line for each without its digest, because digests with the same key
/// lengths are equivalent.
fn secure(list: &List) -> BTreeSet<String> {
    let secure = list
        .accepted
        .iter()
        .filter(|entry| entry.verdict == "secure");
    let mut lengths: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for entry in secure {
        assert_eq!(entry.rules(), "");
        let Spec {
            cipher,
            mode,
            iv,
            key_bits,
            ..
        } = &entry.spec;
        let name = format!("{cipher}-{mode}-{}", iv.name);
        let digest = iv.digest.clone().unwrap_or_default();
        lengths.entry((name, digest)).or_default().push(*key_bits);
    }
    let mut digests: BTreeMap<(String, Vec<usize>), Vec<String>> = BTreeMap::new();
    for ((name, digest), bits) in lengths {
        digests.entry((name, bits)).or_default().push(digest);
    }
    let line = |((name, bits), digests): ((String, Vec<usize>), Vec<String>)| {
        format!("{name} {bits:?} {}", digests.join(" "))
            .trim_end()
            .to_owned()
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

fn has_these_verdicts(list: &List) {
    for (shown, verdict, rules) in VERDICTS {
        let entry = list
            .accepted
            .iter()
            .find(|entry| entry.spec.shown() == shown);
        let entry = entry.unwrap_or_else(|| panic!("{shown} is not in the list"));
        assert_eq!(
            (entry.verdict.as_str(), entry.rules().as_str()),
            (verdict, rules),
            "{shown}"
        );
    }
    for mode in ["ctr", "ecb", "rfc3686(ctr)"] {
        let mut of = list.accepted.iter().filter(|entry| entry.spec.mode == mode);
        assert!(of.all(|entry| entry.verdict == "insecure"), "{mode}");
    }
}

#[rustfmt::skip]
const VERDICTS: [(&str, &str, &str); 21] = [
    ("aes-cbc-eboiv 256", "compatible", "bitlocker-cbc"),
    ("aes-cbc-elephant 512", "compatible", "bitlocker-elephant"),
    ("aes-cbc-essiv:md5 128", "insecure", "broken-digest"),
    ("aes-cbc-essiv:streebog256 256", "compatible", "streebog"),
    ("aes-cbc-lmk 256", "insecure", "loop-aes"),
    ("aes-cbc-null 256", "insecure", "null-iv"),
    ("aes-cbc-plain64 256", "insecure", "predictable-iv"),
    ("aes-cbc-tcw 512", "compatible", "truecrypt"),
    ("aes-ctr-plain64 256", "insecure", "keystream"),
    ("aes-ecb-plain64 256", "insecure", "ecb"),
    ("aes-lrw-benbi 256", "compatible", "lrw"),
    ("aes-lrw-plain64be 256", "insecure", "lrw-overlap lrw"),
    ("aes-xts-essiv:sha256 512", "compatible", "needless-essiv"),
    ("aes-xts-plain 512", "compatible", "plain"),
    ("blowfish-cbc-essiv:sha256 256", "insecure", "short-block"),
    ("capi:cts(cbc(aes))-essiv:sha256 256", "compatible", "stealing"),
    ("capi:rfc3686(ctr(aes))-plain64 160", "insecure", "keystream"),
    ("cipher_null-ecb-null 0", "insecure", "null-cipher ecb short-key"),
    ("des-cbc-plain64 64", "insecure", "predictable-iv short-block short-key"),
    ("serpent-xts-plain64 64", "insecure", "short-key"),
    ("twofish-ctr-plain64 256", "insecure", "keystream"),
];

/// Only ECB is listed under several names; the main one is in the list and stands for itself.
fn only_ecb_has_several_names(list: &List) {
    let names: BTreeSet<&Spec> = list.accepted.iter().map(|entry| &entry.spec).collect();
    for entry in &list.accepted {
        let spec = &entry.spec;
        let is_another_name = spec.mode == "ecb" && spec.iv.name != "null";
        assert_eq!(entry.same_as.is_some(), is_another_name, "{}", spec.shown());
        let Some(other) = &entry.same_as else {
            continue;
        };
        assert!(names.contains(other), "{}", other.shown());
        let expected = (&spec.cipher, "ecb", "null", spec.key_bits);
        assert_eq!(
            (
                &other.cipher,
                other.mode.as_str(),
                other.iv.name.as_str(),
                other.key_bits
            ),
            expected
        );
    }
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
    let (bare, _) = listed(&mut session, "");
    assert_eq!(
        algorithms(&bare),
        BTreeSet::from(BUILT_IN.map(str::to_owned))
    );
    assert_eq!(digests(&bare), BTreeSet::new());

    session.ok(&format!("modprobe -r {targets}"));
    session.write("/proc/sys/kernel/modprobe", &loader);
    let loaded = session.ok("cat /proc/modules");
    assert!(!loaded.contains("twofish") && !loaded.contains("dm_crypt"));
    let (list, _) = listed(&mut session, "");
    let mut expected = algorithms(&bare);
    expected.extend(WITH_MODULES.map(str::to_owned));
    assert_eq!(algorithms(&list), expected);
    assert!(digests(&list).contains("wp256"), "{:?}", digests(&list));
    contains(
        &session.ok("cat /proc/modules"),
        &["essiv", "twofish_generic", "wp512", "dm_crypt"],
    );
}

/// What every guest has, and what twofish's module adds.
const BUILT_IN: [&str; 2] = ["cbc(aes)", "ecb(aes)"];
const WITH_MODULES: [&str; 2] = ["cbc(twofish)", "ecb(twofish)"];

/// The modes and ciphers of a list.
fn algorithms(list: &List) -> BTreeSet<String> {
    let algorithm = |spec: &Spec| format!("{}({})", spec.mode, spec.cipher);
    let specs = list.accepted.iter().map(|entry| &entry.spec);
    let plain = specs.filter(|spec| spec.integrity.is_none());
    plain.map(algorithm).collect()
}

/// The digests of ESSIV in a list.
fn digests(list: &List) -> BTreeSet<&str> {
    let specs = list.accepted.iter().map(|entry| &entry.spec);
    specs.filter_map(|spec| spec.iv.digest.as_deref()).collect()
}

/// Asks about all 300,000 candidates.
fn the_shortcut_misses_nothing() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with(USUAL, Vec::new());
    session.ok(LOAD_USUAL);
    session.load_no_more();
    let (short, _) = listed(&mut session, "");
    let (long, _) = listed(&mut session, "--exhaustive");
    let specs = |list: List| list.accepted.into_iter().map(|entry| entry.spec);
    assert!(long.tried > 10 * short.tried);
    assert!(specs(long).eq(specs(short)));
}
