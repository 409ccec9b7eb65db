//! `squall wipe --all --watch`: drives that are plugged in while it runs.

use squall_lab::test_guests::Bus;

use crate::common::needs::{C_COMPILER, GUESTS};
use crate::wipe::workspace::{GuestSession, MIB, Running, Workspace, id};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    drives_that_are_plugged_in_later_are_wiped: [GUESTS, C_COMPILER],
];

const SIZE: usize = 8 * MIB as usize;

fn drives_that_are_plugged_in_later_are_wiped() {
    let workspace = Workspace::new();
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
        session.guest.unplug(serial).expect("a drive");
    }

    by_a_script(&workspace, &mut session);
    assert!(workspace.is_old("SPARED") && workspace.is_old("OTHER-BUS"));
    assert!(workspace.medium("USED") == used);
    by_a_question(&workspace, &mut session);
    assert!(workspace.is_old("SPARED") && workspace.is_old("OTHER-BUS"));
}

fn by_a_script(workspace: &Workspace, session: &mut GuestSession) {
    let wipe = "wipe --yes --all --bus virtio --except SPARED --report /tmp/watch --keep-key";
    for (options, words) in [
        ("--watch", "add --bus and --count"),
        ("--watch --count 2", "--count 2: 1 drive would be wiped"),
    ] {
        let running = session.squall("refused", &format!("{wipe} {options}"));
        session.end(running).refused(words);
    }
    let running = session.squall("watch", &format!("{wipe} --watch --count 1"));
    session.until(&running, 0, |event| event["event"] == "ended");

    plugged_in(session, "LATER");
    session.until(&running, 1, |event| {
        event["event"] == "attached" && event["identity"]["serial"] == "LATER"
    });
    session.until(&running, 1, |event| event["event"] == "ended");
    // What is on another bus, or was there before, is left out.
    plugged_in(session, "OTHER-BUS");
    until_remark(
        session,
        &running,
        "(OTHER-BUS): left out: is on nvme, not on virtio",
    );
    session.ok("umount /mnt");

    session.ok("kill -INT $(pidof squall)");
    let ran = session.end(running).success();
    assert_eq!([ran.outcome(0), ran.outcome(1)], ["verified", "verified"]);
    for (drive, serial) in ["PRESENT", "LATER"].into_iter().enumerate() {
        let written = session.keystream("watch", drive, SIZE);
        assert!(workspace.medium(serial) == written, "{serial}");
    }
}

fn by_a_question(workspace: &Workspace, session: &mut GuestSession) {
    let before = workspace.medium("PRESENT");
    let wipe = "wipe --all --bus virtio --except SPARED USED --watch --report /tmp/asked";
    let question = "to overwrite them: ";
    for (name, answer, is_confirmed) in [
        ("number", "wipe 2", false),
        ("policy", "wipe 2 and every virtio drive", true),
    ] {
        let running = session.on_terminal(name, wipe);
        session.type_after(name, question, &format!("{answer}\\n"));
        if is_confirmed {
            session.wait_until_ok(&format!("grep -q '2 of 2 finished' /tmp/{name}.screen"));
            session.type_after(name, "waits for drives", "q");
        }
        let (status, shown) = session.end_on_terminal(running);
        assert_eq!(status, if is_confirmed { 0 } else { 2 }, "{shown}");
        assert_eq!(workspace.medium("PRESENT") != before, is_confirmed);
    }
}

/// Plugs a drive in, and waits until the kernel shows it.
fn plugged_in(session: &mut GuestSession, serial: &str) {
    session.guest.plug(serial).expect("a drive");
    session.ok(&format!("rm -f {}", id(serial)));
    session.name(serial);
}

/// Waits for a remark with these words.
#[track_caller]
fn until_remark(session: &mut GuestSession, running: &Running, words: &str) {
    session.until_event(running, |event| {
        let text = event["text"].as_str().unwrap_or_default();
        event["event"] == "remark" && text.contains(words)
    });
}
