//! `squall wipe --all` on drives of every bus: those that nobody uses are wiped, and no others.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use squall_guests::Bus;
use squall_guests::needs::{C_COMPILER, GUESTS};
use squall_testing::runs::FinishedRun;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{GuestSession, MIB, Workspace, id};

pub const TESTS: &[Test] = tests![
    only_drives_that_nobody_uses_are_chosen: [GUESTS, C_COMPILER],
    drives_that_are_plugged_in_later_are_wiped: [GUESTS, C_COMPILER],
    drives_that_were_left_out_stay_left_out: [GUESTS],
    a_drive_that_cannot_be_recorded_shifts_no_other: [GUESTS],
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
    let system = id("SYSTEM");
    session.ok(&format!("mkdir /boot && mount -t ext4 {system} /boot"));
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
    let nothing = json!({ "hpa": 0, "dco": null });
    assert_eq!(drive("FREE-SATA")["hidden"], nothing);
    for serial in ["FREE-BLK", "FREE-SCSI", "FREE-NVME"] {
        assert_eq!(drive(serial)["hidden"], Value::Null, "{serial}");
        assert_eq!(drive(serial)["uses"], json!([]), "{serial}");
    }
}

/// A dry run of `--all`.
fn plan(session: &mut GuestSession, options: &str) -> FinishedRun {
    let running = session.squall("plan", &format!("wipe --all --dry-run {options}"));
    session.end(running)
}

/// The serial numbers of the drives that would be wiped.
fn chosen(ran: &FinishedRun) -> BTreeSet<String> {
    let drives = ran.events("plan")[0]["drives"].as_array().expect("drives");
    let serial = |drive: &Value| drive["serial"].as_str().expect("a serial").to_owned();
    drives.iter().map(serial).collect()
}

fn names<'a>(serials: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    serials.into_iter().map(str::to_owned).collect()
}

fn the_plan_tells_why(session: &mut GuestSession) {
    let ran = plan(session, "").succeeded();
    assert_eq!(chosen(&ran), names(FREE.map(|(serial, _)| serial)));
    let skipped = ran.events("choice")[0]["skipped"].clone();
    let skipped = skipped.as_array().expect("drives");
    let reason = |serial: &str| {
        let found = skipped.iter().find(|drive| drive["serial"] == serial);
        found.expect("a drive")["reason"].clone()
    };
    let is_system = "is a disk of the running system: /boot is on it";
    assert_eq!(reason("SYSTEM"), is_system);
    assert_eq!(reason("HELD"), "is held by dm-0 (part)");
    assert_eq!(skipped.len(), 2, "{skipped:?}");
}

fn buses_and_exceptions(session: &mut GuestSession) {
    for (bus, expected) in [
        ("virtio", &["FREE-BLK", "FREE-SCSI"][..]),
        ("nvme", &["FREE-NVME"]),
        ("sata", &["FREE-SATA"]),
    ] {
        let ran = plan(session, &format!("--bus {bus}")).succeeded();
        assert_eq!(chosen(&ran), names(expected.iter().copied()), "{bus}");
    }
    let ran = plan(session, "--bus nvme --bus sata").succeeded();
    assert_eq!(chosen(&ran), names(["FREE-NVME", "FREE-SATA"]));
    // By a stable name, by the kernel's name, by a serial number.
    let kernels = session.ok(&format!("readlink -f {}", id("FREE-BLK")));
    let options = format!("--except {} {} FREE-SATA", id("FREE-NVME"), kernels.trim());
    let ran = plan(session, &options).succeeded();
    assert_eq!(chosen(&ran), names(["FREE-SCSI"]));
    plan(session, "--except FREE-NONE").refused("no drive has this name or serial number");
    plan(session, "--bus scsi").refused("every drive is in use or excluded");
}

/// Numbers that are not as expected, and nobody to ask.
fn refused(session: &mut GuestSession) {
    let another_number = "--count 2: 1 drive would be wiped";
    for (options, words) in [
        ("--yes --bus sata --count 2", another_number),
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
    let refused = "not confirmed: \"wipe 2\" is not \"wipe 3\": nothing was written";
    assert!(shown.contains(refused), "{shown}");
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
    let ran = session.end(running).succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert!(!workspace.is_old("FREE-SATA"));
}

const SIZE: usize = 8 * MIB as usize;

fn drives_that_are_plugged_in_later_are_wiped() {
    let workspace = Workspace::emulated();
    let drives = [
        ("PRESENT", Bus::VirtioBlk),
        ("USED", Bus::VirtioBlk),
        ("SPARED", Bus::VirtioScsi),
        ("LATER", Bus::VirtioScsi),
        ("OTHER-BUS", Bus::Nvme),
    ];
    let drives = drives.map(|(serial, bus)| workspace.drive(bus, serial, 512, 8));
    let mut session = workspace.boot(&["ext4"], drives.to_vec());
    session.ok(&format!(
        "mke2fs {0} && mount -t ext4 {0} /mnt && sync",
        id("USED")
    ));
    session.ok("umount /mnt");
    let used = workspace.medium("USED");
    session.ok(&format!("mount -o ro -t ext4 {} /mnt", id("USED")));
    for serial in ["LATER", "OTHER-BUS"] {
        session.unplug(serial);
    }

    by_a_script(&workspace, &mut session);
    assert!(workspace.is_old("SPARED") && workspace.is_old("OTHER-BUS"));
    assert!(workspace.medium("USED") == used);
    session.unplug("LATER");
    by_a_question(&workspace, &mut session);
    assert!(workspace.is_old("SPARED") && workspace.is_old("OTHER-BUS"));
}

fn by_a_script(workspace: &Workspace, session: &mut GuestSession) {
    let wipe = "wipe --yes --all --bus virtio --except SPARED --report /tmp/watch --keep-key";
    let running = session.squall("watch", &format!("{wipe} --watch --count 1"));
    session.until(&running, 0, |event| event["event"] == "ended");

    session.plug("LATER");
    session.until(&running, 1, |event| {
        event["event"] == "attached" && event["identity"]["serial"] == "LATER"
    });
    session.until(&running, 1, |event| event["event"] == "ended");
    // What is on another bus, or was there before, is left out.
    session.plug("OTHER-BUS");
    session.until_remark(&running, "(OTHER-BUS): left out: is on nvme, not on virtio");
    session.ok("umount /mnt");

    session.ok("kill -s TERM $(pidof squall)");
    let ran = session.end(running).succeeded();
    assert_eq!([ran.outcome(0), ran.outcome(1)], ["verified", "verified"]);
    for (drive, serial) in ["PRESENT", "LATER"].into_iter().enumerate() {
        let written = session.keystream("watch", drive, SIZE);
        assert!(workspace.medium(serial) == written, "{serial}");
    }
}

fn by_a_question(workspace: &Workspace, session: &mut GuestSession) {
    let before = ["PRESENT", "LATER"].map(|serial| workspace.medium(serial));
    let wipe = "wipe --all --bus virtio --except SPARED USED --watch --report /tmp/asked";
    let question = "to overwrite them: ";
    for (name, answer, is_confirmed) in [
        ("number", "wipe 1", false),
        ("policy", "wipe 1 and every virtio drive", true),
    ] {
        let running = session.on_terminal(name, wipe);
        if is_confirmed {
            // While the question is on the screen.
            session.wait_until_ok(&format!("grep -q '{question}' /tmp/{name}.screen"));
            session.plug("LATER");
        }
        session.type_after(name, question, &format!("{answer}\\n"));
        if is_confirmed {
            session.wait_until_ok(&format!("grep -q '2 of 2 finished' /tmp/{name}.screen"));
            session.type_after(name, "waits for drives", "q");
        }
        let (status, shown) = session.end_on_terminal(running);
        assert_eq!(status, if is_confirmed { 0 } else { 2 }, "{shown}");
        let after = ["PRESENT", "LATER"].map(|serial| workspace.medium(serial));
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(after != before, is_confirmed);
        }
    }
}

/// What is plugged in again is new to the kernel, and may have another name. NVMe drives have a worldwide identifier,
/// and virtio's have none.
fn drives_that_were_left_out_stay_left_out() {
    let workspace = Workspace::emulated();
    let drives = [
        ("EXCEPTED", Bus::VirtioScsi, 8),
        ("NEW", Bus::VirtioScsi, 1),
        ("MOUNTED", Bus::Nvme, 8),
        ("SKIPPED", Bus::Nvme, 8),
        ("WIPED", Bus::Nvme, 1),
    ];
    let drives = drives.map(|(serial, bus, mib)| workspace.drive(bus, serial, 512, mib));
    let mut session = workspace.boot(&["ext4"], drives.to_vec());
    let (drive, place) = (id("MOUNTED"), "/tmp/mounted");
    session.ok(&format!("mke2fs {drive} && sync && mkdir {place}"));
    session.ok(&format!("mount -o ro -t ext4 {drive} {place}"));
    let before = workspace.medium("MOUNTED");
    for serial in ["NEW", "WIPED"] {
        session.unplug(serial);
    }
    let excepted = session.ok(&format!("readlink -f {}", id("EXCEPTED")));

    // The first transfer of each drive, which is all of the small ones, does not wait. The second waits for a quarter of
    // an hour, and so SKIPPED is skipped before its end however late the keys come.
    let running = session.on_terminal(
        "left",
        &format!(
            "wipe --all --bus virtio --bus nvme --except {} --watch --report /tmp/left \
             --verify none --rate-limit 1KiB",
            excepted.trim()
        ),
    );
    let answer = "wipe 1 and every virtio or nvme drive\\n";
    session.type_after("left", "to overwrite them: ", answer);
    session.type_after("left", "s skips a drive", "s1\\r");
    session.wait_until_ok("grep -q 'SKIPPED: interrupted' /tmp/left.screen");

    // Another drive gets the name that was excepted, and is wiped.
    session.unplug("EXCEPTED");
    session.plug("NEW");
    let new = session.ok(&format!("readlink -f {}", id("NEW")));
    assert_eq!(new, excepted);
    session.plug("WIPED");
    for serial in ["NEW", "WIPED"] {
        session.wait_until_ok(&format!("grep -q '{serial}: overwritten' /tmp/left.screen"));
    }
    session.plug("EXCEPTED");
    let line = "(EXCEPTED): left out: it has the serial number and size of a drive";
    session.wait_until_ok(&format!("grep -q '{line}' /tmp/left.screen"));
    session.type_after("left", "waits for drives", "q");
    let (status, shown) = session.end_on_terminal(running);
    assert_eq!(status, 1, "{shown}");
    assert!(workspace.is_old("EXCEPTED") && !workspace.is_old("NEW"));
    assert!(workspace.medium("MOUNTED") == before);
}

/// The place of the reports is read-only while a drive is plugged in, which cannot be recorded then. The next drive has
/// its number.
fn a_drive_that_cannot_be_recorded_shifts_no_other() {
    let workspace = Workspace::emulated();
    let drives = ["PRESENT", "LOST", "NEXT"];
    let drives = drives.map(|serial| workspace.drive(Bus::VirtioBlk, serial, 512, 8));
    let mut session = workspace.boot(&[], drives.to_vec());
    for serial in ["LOST", "NEXT"] {
        session.unplug(serial);
    }
    session.ok("mkdir /tmp/lost && mount -t tmpfs tmpfs /tmp/lost");
    let wipe = "wipe --yes --all --bus virtio --watch --count 1 --report /tmp/lost";
    let running = session.squall("lost", wipe);
    session.until(&running, 0, |event| event["event"] == "ended");

    session.wait_until_ok("mount -o remount,ro /tmp/lost");
    session.plug("LOST");
    session.until_remark(&running, "(LOST): left out: ");
    session.ok("mount -o remount,rw /tmp/lost");
    session.plug("NEXT");
    for name in ["attached", "ended"] {
        session.until(&running, 1, |event| {
            event["event"] == name && event["serial"] == "NEXT"
        });
    }
    session.ok("kill -s TERM $(pidof squall)");
    let ran = session.end(running);
    let ran = ran.failed("plugged in and not wiped, for the reasons above: 1 drive");
    let ended = ran.events("end")[0]["drives"].as_array().expect("drives");
    let serials: Vec<_> = ended.iter().map(|drive| &drive["serial"]).collect();
    assert_eq!(serials, ["PRESENT", "NEXT"]);
    assert!(workspace.is_old("LOST"));
}
