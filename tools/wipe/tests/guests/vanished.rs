//! Drives that vanish in the middle of a job, and come back under other names, or while somebody uses them, or after
//! somebody did.
//!
//! To the kernel a drive that comes back is new, and a mount of the old one does not show on it. In the controls the run
//! does not know the drive, or nobody uses it any more; then it is wiped.

use squall_guests::needs::GUESTS;
use squall_guests::{Bus, Drive};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{GuestSession, MIB, Running, Workspace, id};

pub const TESTS: &[Test] = tests![
    a_drive_that_vanishes_can_be_resumed_when_it_is_back: [GUESTS],
    a_mounted_drive_that_returns_is_not_taken: [GUESTS],
    drives_that_are_mounted_when_they_are_plugged_in_are_not_taken: [GUESTS],
    a_drive_that_returns_in_use_is_not_resumed: [GUESTS],
];

const SIZE: usize = 12 * MIB as usize;

/// Options that make the wipe slow enough for everything that happens meanwhile.
const SLOWLY: &str = "--keep-key --rate-limit 256KiB --checkpoint 1";

/// Drives that vanish, one on each bus.
const GONE: [&str; 3] = ["BLK-GONE", "SCSI-GONE", "NVME-GONE"];

fn a_drive_that_vanishes_can_be_resumed_when_it_is_back() {
    let workspace = Workspace::emulated();
    let gone = [Bus::VirtioBlk, Bus::VirtioScsi, Bus::Nvme];
    let gone = gone.into_iter().zip(GONE);
    let mut drives: Vec<Drive> = gone
        .map(|(bus, serial)| workspace.drive(bus, serial, 512, 12))
        .collect();
    let others = [("BLK-STAYS", 1), ("BLK-REPORTS", 12)];
    drives.extend(others.map(|(serial, mib)| workspace.drive(Bus::VirtioBlk, serial, 512, mib)));

    let mut session = workspace.boot(&["ext4"], drives.clone());
    session.ok(&format!("mke2fs {}", id("BLK-REPORTS")));
    session.keep_reports_on("BLK-REPORTS");
    let name = name_of(&mut session, GONE[0]);
    let offsets = pulled(&mut session);
    session.ok("umount /mnt");
    drop(session);
    assert!(!workspace.is_old("BLK-STAYS"));

    // Other drives come first and take the names of these. That is certain only for virtio-blk, which
    // finds its drives one after the other; the other drivers look for all of theirs at once.
    let mut drives_now: Vec<Drive> = ["NEW-1", "NEW-2", "NEW-3"]
        .into_iter()
        .zip([Bus::VirtioBlk, Bus::VirtioScsi, Bus::Nvme])
        .map(|(serial, bus)| workspace.drive(bus, serial, 512, 12))
        .collect();
    drives_now.extend(drives);
    let mut session = workspace.boot(&["ext4"], drives_now);
    session.keep_reports_on("BLK-REPORTS");
    assert_ne!(name_of(&mut session, GONE[0]), name);
    let ran = session.resume("pulled", "").succeeded();
    for (drive, serial) in GONE.into_iter().enumerate() {
        assert_eq!(ran.outcome(drive as u64), "verified", "{serial}");
        let passes = ran.events("pass");
        let pass = passes.iter().find(|pass| pass["drive"] == drive);
        assert!(pass.expect("a pass")["offset"].as_u64() >= Some(offsets[drive]));
        let written = session.keystream("pulled", drive, SIZE);
        assert!(workspace.medium(serial) == written, "{serial}");
    }
    assert_eq!(
        ran.events("pass").len(),
        GONE.len(),
        "the other one is done"
    );
    for serial in ["NEW-1", "NEW-2", "NEW-3"] {
        assert!(workspace.is_old(serial), "{serial}");
    }
}

fn name_of(session: &mut GuestSession, serial: &str) -> String {
    session.ok(&format!("readlink -f {}", id(serial)))
}

/// Pulls out all drives of [`GONE`] but not another one. Returns at least how far each had come.
fn pulled(session: &mut GuestSession) -> Vec<u64> {
    let drives = [&GONE[..], &["BLK-STAYS"]].concat();
    let running = session.start("pulled", SLOWLY, &drives);
    let mut offsets = Vec::new();
    for drive in 0..GONE.len() as u64 {
        offsets.push(session.until_checkpoint(&running, drive));
    }
    for serial in GONE {
        session.guest.unplug(serial).expect("a drive");
    }
    let ran = session
        .end(running)
        .failed("3 of 4 drives not wiped as asked");
    let journal = session.journal("pulled").expect("a journal");
    assert!(
        ran.stderr
            .contains(&format!("squall wipe --resume {journal}"))
    );
    let outcomes: Vec<_> = (0..4).map(|drive| ran.outcome(drive)).collect();
    assert_eq!(outcomes, ["vanished", "vanished", "vanished", "verified"]);
    for (drive, serial) in GONE.into_iter().enumerate() {
        assert_eq!(
            session.report("pulled", drive)["outcome"]["outcome"],
            "vanished",
            "{serial}"
        );
    }
    let refused = session.resume("pulled", "").refused("is not attached");
    let names_it = |serial: &&str| refused.stderr.contains(*serial);
    assert!(GONE.iter().all(names_it), "{}", refused.stderr);
    offsets
}

/// Options that make the wipe slow enough for everything that happens meanwhile.
const SLOWER: &str = "--rate-limit 128KiB --checkpoint 1";

/// What is said of drives without a worldwide identifier, as QEMU's are.
const LEFT_OUT: &str = "it has the serial number and size of a drive that was left out";
const OF_THE_JOB: &str = "it has the serial number and size of a drive of this job";

const WATCH: &str = "wipe --yes --all --bus virtio --watch --count 1";

/// It was mounted when the run began. Its mount goes with the old device, so only what the run remembers spares it.
fn a_mounted_drive_that_returns_is_not_taken() {
    let workspace = Workspace::emulated();
    let drives = ["PRESENT", "MOUNTED"];
    let drives = drives.map(|serial| workspace.drive(Bus::VirtioScsi, serial, 512, 1));
    let mut session = workspace.boot(&["ext4"], drives.to_vec());
    mount_new_file_system(&mut session, "MOUNTED", "/tmp/mounted");
    let before = workspace.medium("MOUNTED");
    let running = session.squall("known", &format!("{WATCH} --report /tmp/known"));
    session.until(&running, 0, |event| event["event"] == "ended");
    session.unplug("MOUNTED");
    session.plug("MOUNTED");
    let device = session.ok(&format!(
        "cat /sys/block/$(basename $(readlink -f {}))/dev",
        id("MOUNTED")
    ));
    let mounts = session.ok("cat /proc/self/mountinfo");
    assert!(
        mounts.contains("/tmp/mounted") && !mounts.contains(&format!(" {} ", device.trim())),
        "{device}: {mounts}"
    );
    until_left_out(&mut session, &running, "MOUNTED", LEFT_OUT);
    assert_eq!(interrupt(&mut session, running), 1);
    assert!(workspace.medium("MOUNTED") == before);

    // The control: a run that has not seen it mounted takes it.
    a_new_run_takes(&mut session, "MOUNTED");
    assert!(workspace.medium("MOUNTED") != before);
}

/// Somebody mounts two drives before the run looks at them: one that is new to it, and one of its job that vanished.
/// The first is spared for its mount, the second because the run knows it.
fn drives_that_are_mounted_when_they_are_plugged_in_are_not_taken() {
    let workspace = Workspace::emulated();
    let drives = ["VANISHING", "LATER"];
    let drives = drives.map(|serial| workspace.drive(Bus::VirtioScsi, serial, 512, 12));
    let mut session = workspace.boot(&["ext4"], drives.to_vec());
    mount_new_file_system(&mut session, "LATER", "/tmp/later");
    session.ok("umount /tmp/later");
    let before = workspace.medium("LATER");
    session.unplug("LATER");
    let running = session.squall("job", &format!("{WATCH} {SLOWER} --report /tmp/job"));
    session.until_checkpoint(&running, 0);
    session.unplug("VANISHING");
    session.until(&running, 0, |event| event["outcome"] == "vanished");

    session.ok("kill -STOP $(pidof squall)");
    session.wait_until_ok(
        "for process in $(pidof squall); do
            ! grep -h ^State /proc/$process/task/*/status | grep -v stopped || exit 1
        done",
    );
    session.plug("LATER");
    session.ok(&format!("mount -o ro -t ext4 {} /tmp/later", id("LATER")));
    session.plug("VANISHING");
    mount_new_file_system(&mut session, "VANISHING", "/tmp/vanishing");
    let mounted = workspace.medium("VANISHING");
    session.ok("kill -CONT $(pidof squall)");
    until_left_out(&mut session, &running, "LATER", "is mounted at /tmp/later");
    until_left_out(&mut session, &running, "VANISHING", OF_THE_JOB);

    session.ok("umount /tmp/later");
    session.unplug("LATER");
    session.plug("LATER");
    until_left_out(&mut session, &running, "LATER", LEFT_OUT);
    assert_eq!(interrupt(&mut session, running), 1);
    assert!(workspace.medium("LATER") == before);
    assert!(workspace.medium("VANISHING") == mounted);

    // The control: a new run knows neither drive, and nobody has mounted them. It takes both.
    session.ok("umount /tmp/vanishing");
    a_new_run_takes(&mut session, "LATER");
    assert!(workspace.medium("LATER") != before);
    assert!(workspace.medium("VANISHING") != mounted);
}

/// The job cannot be resumed while somebody has the drive.
fn a_drive_that_returns_in_use_is_not_resumed() {
    let workspace = Workspace::emulated();
    let drive = workspace.drive(Bus::VirtioScsi, "GONE", 512, 12);
    let mut session = workspace.boot(&["dm-mod"], vec![drive]);
    let running = session.start("gone", &format!("--keep-key {SLOWER}"), &["GONE"]);
    let offset = session.until_checkpoint(&running, 0);
    session.unplug("GONE");
    let ran = session.end(running).failed("1 of 1 drives not wiped");
    assert_eq!(ran.outcome(0), "vanished");
    session.plug("GONE");
    let sectors = SIZE / 512;
    session.map("part", &format!("0 {sectors} linear {} 0", id("GONE")));
    let before = workspace.medium("GONE");
    let refused = session.resume("gone", "");
    refused.refused("is held by dm-0 (part): nothing was written");
    assert!(workspace.medium("GONE") == before);

    // The control: nobody has it any more.
    session.ok("dmsetup remove part");
    let ran = session.resume("gone", "").succeeded();
    assert!(ran.events("pass")[0]["offset"].as_u64() >= Some(offset));
    let written = session.keystream("gone", 0, SIZE);
    assert!(workspace.medium("GONE") == written);
}

/// A new run wipes the other drive, and then the one with this serial number, which is plugged in after that.
fn a_new_run_takes(session: &mut GuestSession, serial: &str) {
    session.unplug(serial);
    let running = session.squall("control", &format!("{WATCH} --report /tmp/control"));
    session.until(&running, 0, |event| event["event"] == "ended");
    session.plug(serial);
    session.until(&running, 1, |event| event["event"] == "ended");
    assert_eq!(interrupt(session, running), 2);
}

/// Makes a file system on a drive, and mounts it read-only: the mount writes nothing.
fn mount_new_file_system(session: &mut GuestSession, serial: &str, place: &str) {
    let drive = id(serial);
    session.ok(&format!("mke2fs {drive} && sync && mkdir {place}"));
    session.ok(&format!("mount -o ro -t ext4 {drive} {place}"));
}

/// Waits until the run says that it leaves the drive out, and why.
fn until_left_out(session: &mut GuestSession, running: &Running, serial: &str, reason: &str) {
    let words = format!("({serial}): left out: {reason}");
    session.until_remark(running, &words);
}

/// Interrupts a run that watches, and returns how many drives were in its job.
fn interrupt(session: &mut GuestSession, running: Running) -> usize {
    session.ok("kill -s TERM $(pidof squall)");
    let ran = session.end(running);
    ran.events("end")[0]["drives"]
        .as_array()
        .expect("drives")
        .len()
}
