//! `squall wipe --all --watch`: drives that are plugged in while it runs.

use squall_guests::Bus;

use crate::guests::workspace::{GuestSession, MIB, Workspace, id};
use squall_guests::needs::{C_COMPILER, GUESTS};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    drives_that_are_plugged_in_later_are_wiped: [GUESTS, C_COMPILER],
    drives_that_were_left_out_stay_left_out: [GUESTS],
    a_drive_that_cannot_be_recorded_shifts_no_other: [GUESTS],
];

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
    for (options, words) in [
        ("--watch", "add --bus and --count"),
        ("--watch --count 2", "--count 2: 1 drive would be wiped"),
    ] {
        let running = session.squall("refused", &format!("{wipe} {options}"));
        session.end(running).refused(words);
    }
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
    let ran = session.end(running).success();
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

    let running = session.on_terminal(
        "left",
        &format!(
            "wipe --all --bus virtio --bus nvme --except {} --watch --report /tmp/left \
             --verify none --rate-limit 128KiB --checkpoint 1",
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
    let ran = ran.failure("plugged in and not wiped, for the reasons above: 1 drive");
    let ended = ran.events("end")[0]["drives"].as_array().expect("drives");
    let serials: Vec<_> = ended.iter().map(|drive| &drive["serial"]).collect();
    assert_eq!(serials, ["PRESENT", "NEXT"]);
    assert!(workspace.is_old("LOST"));
}
