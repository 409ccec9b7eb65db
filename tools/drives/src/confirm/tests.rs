//! Tests questions on a real terminal, and refusals without one.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::*;
use crate::Kind;
use crate::target::tests::find;
use squall_testing::loops::Lab;

const MIB: u64 = 1 << 20;

const WIPE: Purpose = Purpose {
    verb: "wipe",
    instead: |path| format!("see {}", path.display()),
};

/// A target that looks like a drive at /dev/sdb.
fn drive(lab: &Lab, serial: Option<&str>) -> Target {
    let mut target = find(&lab.image("drive", MIB));
    target.has_stable_name = false;
    target.identity.given = "/dev/sdb".into();
    target.identity.path = "/dev/sdb".into();
    target.identity.kind = Kind::Disk;
    target.identity.model = Some("WDC WD40EFRX".into());
    target.identity.serial = serial.map(str::to_owned);
    target.identity.wwid = Some("naa.50014ee2b5d0a1f3".into());
    target
}

fn consent(yes: bool, serials: &[&str]) -> Consent {
    let serial = serials.iter().map(|&serial| serial.to_owned()).collect();
    Consent { yes, serial }
}

/// A new pseudo-terminal: the user's side and the program's.
fn terminal() -> (File, OwnedFd) {
    let users = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&users).unwrap();
    unlockpt(&users).unwrap();
    let name = ptsname(&users, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let programs = rustix::fs::open(&*name, flags, Mode::empty()).unwrap();
    (users.into(), programs)
}

/// Confirms `targets` with a user who types each of `answers` when asked. Returns what the user
/// saw, and the result.
fn asked(targets: &[Target], consent: &Consent, answers: &[&str]) -> (String, Result<(), Failure>) {
    asked_for(&WIPE, targets, consent, answers)
}

/// Like [`asked`], for any purpose.
fn asked_for(
    purpose: &Purpose,
    targets: &[Target],
    consent: &Consent,
    answers: &[&str],
) -> (String, Result<(), Failure>) {
    let (mut user, program) = terminal();
    let program = File::from(program);
    thread::scope(|scope| {
        let work = scope.spawn(|| {
            let ended = confirm_on(&program, &program, None, targets, consent, purpose);
            (&program).write_all(b"(end)").unwrap();
            ended
        });
        let mut seen = String::new();
        let ends = ["overwrite it: ", "overwrite them: "];
        for answer in answers {
            read_until(&mut user, &mut seen, &ends);
            user.write_all(answer.as_bytes()).unwrap();
        }
        read_until(&mut user, &mut seen, &["(end)"]);
        (seen, work.join().unwrap())
    })
}

/// Reads until one of `ends` arrives.
fn read_until(user: &mut File, seen: &mut String, ends: &[&str]) {
    let mut new = Vec::new();
    while !ends.iter().any(|end| new.ends_with(end.as_bytes())) {
        let mut byte = [0];
        user.read_exact(&mut byte).unwrap();
        new.push(byte[0]);
    }
    seen.push_str(str::from_utf8(&new).unwrap());
}

#[track_caller]
fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[track_caller]
fn not_confirmed(ended: Result<(), Failure>) {
    let text = ended.expect_err("no confirmation").into_text();
    contains(
        &text,
        &["not confirmed: nothing was written", "--yes", "--serial"],
    );
}

#[test]
fn stable_names_are_confirmed_together() {
    let lab = Lab::new();
    let targets = [find(&lab.image("one", MIB)), find(&lab.image("two", MIB))];
    let none = consent(false, &[]);
    let (seen, ended) = asked(&targets, &none, &["wipe 2\n"]);
    ended.unwrap();
    contains(
        &seen,
        &[
            "Everything on 2 targets",
            "2.10 MB in all",
            "Type \"wipe 2\"",
        ],
    );
    for wrong in [
        "wipe 1\n",
        "wipe\n",
        "yes\n",
        "y\n",
        "\n",
        "wipe 2 \x04\x04",
        "\x04",
    ] {
        let (_, ended) = asked(&targets, &none, &[wrong]);
        not_confirmed(ended);
    }
    let (_, ended) = asked(&targets[..1], &none, &[" wipe 1\n"]);
    ended.unwrap();
}

#[test]
fn what_is_typed_is_the_purpose() {
    let lab = Lab::new();
    let targets = [find(&lab.image("one", MIB))];
    let none = consent(false, &[]);
    let other = Purpose {
        verb: "measure",
        ..WIPE
    };
    let (seen, ended) = asked_for(&other, &targets, &none, &["measure 1\n"]);
    ended.unwrap();
    contains(&seen, &["Type \"measure 1\""]);
    let (_, ended) = asked_for(&other, &targets, &none, &["wipe 1\n"]);
    not_confirmed(ended);
}

#[test]
fn other_targets_are_confirmed_by_serial_number() {
    let lab = Lab::new();
    let sdb = drive(&lab, Some("WD-WX12 \u{fc}"));
    let mut sdc = drive(&lab, Some("diskseq-9"));
    sdc.identity.given = "/dev/sdc\x1b[2J".into();
    let file = find(&lab.image("file", MIB));
    let targets = [sdb, file, sdc];
    let none = consent(false, &[]);
    let answers = ["wipe 1\n", "WD-WX12 \u{fc}\n", "diskseq-9\n"];
    let (seen, ended) = asked(&targets, &none, &answers);
    ended.unwrap();
    let words = [
        "/file: 1.05 MB",
        "Everything on 1 target will",
        "/dev/sdb: WDC WD40EFRX, serial",
    ];
    contains(&seen, &words);
    contains(
        &seen,
        &[
            "/dev/sdc\\u{1b}[2J: /dev/sdb, WDC",
            "serial number diskseq-9",
        ],
    );
    for wrong in [
        ["wipe 3\n"].as_slice(),
        &["wipe 1\n", "WD-WX12\n"],
        &["wipe 1\n", "\n"],
        &["wipe 1\n", "\x04"],
        &["wipe 1\n", "WD-WX12 \u{fc}\n", "wipe 1\n"],
    ] {
        let (_, ended) = asked(&targets, &none, wrong);
        not_confirmed(ended);
    }
    let (_, ended) = asked(&[drive(&lab, None)], &none, &[]);
    contains(
        &ended.unwrap_err().into_text(),
        &["/dev/sdb: it has no serial number"],
    );
}

#[test]
fn serial_numbers_that_were_given_count_as_names() {
    let lab = Lab::new();
    let targets = [drive(&lab, Some("WD-1")), find(&lab.image("file", MIB))];
    for serial in ["WD-1", " WD-1 ", "naa.50014ee2b5d0a1f3"] {
        let (seen, ended) = asked(&targets, &consent(false, &[serial]), &["wipe 2\n"]);
        ended.unwrap();
        contains(&seen, &["Type \"wipe 2\""]);
        confirmed_by_arguments(&targets, &consent(true, &[serial])).unwrap();
    }
    for yes in [false, true] {
        let slip = consent(yes, &["WD-1", "WD-2"]);
        let ended = confirmed_by_arguments(&targets, &slip);
        let text = ended.unwrap_err().into_text();
        contains(
            &text,
            &["--serial WD-2: no target has this serial number: nothing was written"],
        );
        contains(
            &text,
            &["/dev/sdb (serial number WD-1)", "file (no serial number)"],
        );
    }
}

#[test]
fn yes_takes_names_that_stay() {
    let lab = Lab::new();
    let file = find(&lab.image("file", MIB));
    let mut stable = drive(&lab, Some("WD-1"));
    stable.has_stable_name = true;
    let yes = consent(true, &[]);
    confirmed_by_arguments(&[file.clone(), stable], &yes).unwrap();
    let sdb = drive(&lab, Some("it's 1"));
    let ended = confirmed_by_arguments(&[file, sdb], &yes);
    let text = ended.unwrap_err().into_text();
    contains(
        &text,
        &["/dev/sdb (serial number it's 1): nothing was written"],
    );
    contains(
        &text,
        &[
            "use names below /dev/disk/by-id",
            r"add --serial 'it'\''s 1'",
        ],
    );
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let lab = Lab::new();
    let targets = [find(&lab.image("file", MIB))];
    let ended = confirmed_by_arguments(&targets, &consent(false, &[]));
    let text = ended.unwrap_err().into_text();
    contains(
        &text,
        &[
            "standard input is not a terminal: nothing was written",
            "use --yes",
        ],
    );
}

/// Confirms `targets` without a terminal, and asserts that nothing is asked.
fn confirmed_by_arguments(targets: &[Target], consent: &Consent) -> Result<(), Failure> {
    let nobody = File::open(Path::new("/dev/null")).unwrap();
    let mut questions = Vec::new();
    let ended = confirm_on(&nobody, &mut questions, None, targets, consent, &WIPE);
    assert_eq!(questions, b"");
    ended
}
