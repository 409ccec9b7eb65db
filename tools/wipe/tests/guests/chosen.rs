//! `squall wipe --all` on drives of every bus: those that nobody uses are wiped, and no others.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use squall_guests::Bus;

use crate::guests::workspace::{GuestSession, RunResult, Workspace, id};
use squall_guests::needs::{C_COMPILER, GUESTS};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    only_drives_that_nobody_uses_are_chosen: [GUESTS, C_COMPILER],
];

/// Drives that nobody uses, one on each bus.
const FREE: [(&str, Bus); 4] = [
    ("FREE-BLK", Bus::VirtioBlk),
    ("FREE-SCSI", Bus::VirtioScsi),
    ("FREE-NVME", Bus::Nvme),
    ("FREE-SATA", Bus::Sata),
];

fn only_drives_that_nobody_uses_are_chosen() {
    let workspace = Workspace::emulated();
    let used = ["SYSTEM", "HELD"].map(|serial| (serial, Bus::VirtioBlk));
    let drives = used.into_iter().chain(FREE);
    let drives = drives.map(|(serial, bus)| workspace.drive(bus, serial, 512, 8));
    let mut session = workspace.boot(&["dm-mod", "ext4"], drives.collect());
    session.ok(&format!("mke2fs {}", id("SYSTEM")));
    session.ok(&format!(
        "mkdir /boot && mount -t ext4 {} /boot",
        id("SYSTEM")
    ));
    session.ok("echo precious >/boot/file && sync");
    session.map("part", &format!("0 1000 linear {} 100", id("HELD")));

    the_list_has_all(&mut session);
    the_plan_tells_why(&mut session);
    buses_and_exceptions(&mut session);
    refused(&mut session);
    for (serial, _) in FREE {
        assert!(workspace.is_old(serial), "{serial}");
    }
    one_question(&workspace, &mut session);
    a_script(&workspace, &mut session);
    assert!(workspace.is_old("HELD"));
    assert_eq!(session.ok("umount /boot; mount -t ext4 -o ro $(readlink -f /dev/disk/by-id/SYSTEM) /boot; cat /boot/file"), "precious\n");
}

/// `squall drives` shows all of them. An ATA drive also tells what it hides: QEMU's hides nothing, and has no DCO.
fn the_list_has_all(session: &mut GuestSession) {
    let listed = session.ok("squall drives --json");
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("a list");
    let drive = |serial: &str| {
        let found = listed.iter().find(|drive| drive["serial"] == serial);
        found.expect("a drive").clone()
    };
    assert_eq!(drive("SYSTEM")["bus"], "virtio");
    assert_eq!(
        drive("FREE-SATA")["hidden"],
        json!({ "hpa": 0, "dco": null })
    );
    for serial in ["FREE-BLK", "FREE-SCSI", "FREE-NVME"] {
        assert_eq!(drive(serial)["hidden"], Value::Null, "{serial}");
        assert_eq!(drive(serial)["uses"], json!([]), "{serial}");
    }
}

/// A dry run of `--all`.
fn plan(session: &mut GuestSession, options: &str) -> RunResult {
    let running = session.squall("plan", &format!("wipe --all --dry-run {options}"));
    session.end(running)
}

/// The serial numbers of the drives that would be wiped.
fn chosen(ran: &RunResult) -> BTreeSet<String> {
    let drives = ran.events("plan")[0]["drives"].as_array().expect("drives");
    let serial = |drive: &Value| drive["serial"].as_str().expect("a serial").to_owned();
    drives.iter().map(serial).collect()
}

fn names<'a>(serials: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    serials.into_iter().map(str::to_owned).collect()
}

fn the_plan_tells_why(session: &mut GuestSession) {
    let ran = plan(session, "").success();
    assert_eq!(chosen(&ran), names(FREE.map(|(serial, _)| serial)));
    let skipped = ran.events("choice")[0]["skipped"].clone();
    let skipped = skipped.as_array().expect("drives");
    let reason = |serial: &str| {
        let found = skipped.iter().find(|drive| drive["serial"] == serial);
        found.expect("a drive")["reason"]
            .as_str()
            .expect("a reason")
            .to_owned()
    };
    assert_eq!(
        reason("SYSTEM"),
        "is a disk of the running system: /boot is on it"
    );
    assert_eq!(reason("HELD"), "is held by dm-0 (part)");
    assert_eq!(skipped.len(), 2, "{skipped:?}");
}

fn buses_and_exceptions(session: &mut GuestSession) {
    for (bus, expected) in [
        ("virtio", &["FREE-BLK", "FREE-SCSI"][..]),
        ("nvme", &["FREE-NVME"]),
        ("sata", &["FREE-SATA"]),
    ] {
        let ran = plan(session, &format!("--bus {bus}")).success();
        assert_eq!(chosen(&ran), names(expected.iter().copied()), "{bus}");
    }
    let ran = plan(session, "--bus nvme --bus sata").success();
    assert_eq!(chosen(&ran), names(["FREE-NVME", "FREE-SATA"]));
    // By a stable name, by the kernel's name, by a serial number.
    let kernels = session.ok(&format!("readlink -f {}", id("FREE-BLK")));
    let options = format!("--except {} {} FREE-SATA", id("FREE-NVME"), kernels.trim());
    let ran = plan(session, &options).success();
    assert_eq!(chosen(&ran), names(["FREE-SCSI"]));
    plan(session, "--except FREE-NONE").refused("no drive has this name or serial number");
    plan(session, "--bus scsi").refused("every drive is in use or excluded");
}

/// What scripts must not leave open, and numbers that are not as expected.
fn refused(session: &mut GuestSession) {
    for (options, words) in [
        ("--yes", "add --bus and --count"),
        ("--yes --bus sata", "add --bus and --count"),
        ("--yes --count 4", "add --bus and --count"),
        (
            "--yes --bus sata --count 2",
            "--count 2: 1 drive would be wiped",
        ),
        ("", "standard input is not a terminal"),
    ] {
        let running = session.squall("refused", &format!("wipe --all {options}"));
        session.end(running).refused(words);
    }
}

/// All drives but one are wiped after a question for their number.
fn one_question(workspace: &Workspace, session: &mut GuestSession) {
    let arguments = "wipe --all --except FREE-SATA --report /tmp/all";
    let question = "to overwrite them: ";
    let running = session.on_terminal("two", arguments);
    session.type_after("two", question, "wipe 2\\n");
    let (status, shown) = session.end_on_terminal(running);
    assert_eq!(status, 2, "{shown}");
    assert!(
        shown.contains("not confirmed: nothing was written"),
        "{shown}"
    );
    for (serial, _) in FREE {
        assert!(workspace.is_old(serial), "{serial}");
    }

    let running = session.on_terminal("three", arguments);
    session.type_after("three", question, "wipe 3\\n");
    let (status, shown) = session.end_on_terminal(running);
    assert_eq!(status, 0, "{shown}");
    for words in ["left out:", "SYSTEM", "HELD", "to be wiped:"] {
        assert!(shown.contains(words), "{shown}");
    }
    for (serial, _) in FREE {
        assert_eq!(workspace.is_old(serial), serial == "FREE-SATA", "{serial}");
    }
}

/// A script says the bus and the number.
fn a_script(workspace: &Workspace, session: &mut GuestSession) {
    let options = "wipe --all --yes --bus sata --count 1 --report /tmp/script";
    let running = session.squall("script", options);
    let ran = session.end(running).success();
    assert_eq!(ran.outcome(0), "verified");
    assert!(!workspace.is_old("FREE-SATA"));
}
