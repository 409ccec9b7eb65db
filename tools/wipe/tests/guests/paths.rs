//! Drives that are reached by two paths, of which nobody tells the kernel that they are one: two SCSI hosts with one
//! store, as with a drive with two cables and no multipathd; and two drives of a virtual machine on one file. What
//! somebody uses by one path is not overwritten by the other.

use squall_guests::Bus;
use squall_guests::fixture::TIMEOUT;
use squall_guests::needs::{GUESTS, USER_MODE};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{GuestSession, MIB, Workspace};

pub const TESTS: &[Test] = tests![
    a_drive_in_use_by_another_path_is_refused: [USER_MODE],
    a_partition_in_use_by_another_path_is_refused: [USER_MODE],
    a_drive_is_wiped_once_and_by_one_path: [USER_MODE],
    nobody_gets_at_a_drive_by_another_path_meanwhile: [USER_MODE],
    paths_below_a_multipath_device_are_its_own: [USER_MODE],
    drives_without_names_are_told_apart_by_their_contents: [GUESTS],
];

const MODULES: [&str; 8] = [
    "scsi_debug",
    "sd_mod",
    "ext4",
    "dm-mod",
    "dm-multipath",
    "dm-round-robin",
    "dm-crypt",
    "loop",
];

/// Both paths to the drive.
const ONE: &str = "/dev/sda";
const OTHER: &str = "/dev/sdb";

/// Two hosts with one drive of 48 MiB. It has `options` of the module scsi_debug.
fn boot<'w>(workspace: &'w Workspace, options: &str) -> GuestSession<'w> {
    let mut session = workspace.boot(&MODULES, Vec::new());
    session.ok("modprobe -a sd_mod dm-mod loop");
    session.ok(&format!(
        "modprobe scsi_debug dev_size_mb=48 add_host=2 vpd_use_hostno=0 per_host_store=0 {options}"
    ));
    session.wait_until_ok(&format!(
        "[ -b {ONE} ] && [ -b {OTHER} ] && : <{ONE} && : <{OTHER}"
    ));
    session
}

/// Commands that would overwrite or read `path`.
fn commands(path: &str) -> Vec<String> {
    let yes = "--yes --serial $(cat /tmp/serial)";
    vec![
        format!("squall wipe --dry-run {path}"),
        format!("squall wipe --dry-run --purge --untried-on-hardware {path}"),
        format!("squall wipe {yes} --report /tmp/refused {path}"),
        format!("squall stream --size 1MiB {yes} --output {path}"),
        format!("squall dmcrypt bench {yes} --size 16MiB --device {path}"),
        format!("squall blank {path}"),
    ]
}

/// The sum of the drive's bytes.
fn sum(session: &mut GuestSession) -> String {
    session.ok("echo 3 >/proc/sys/vm/drop_caches");
    session.ok(&format!("md5sum <{ONE}"))
}

/// Asserts that `command` is refused for a reason with `words`.
#[track_caller]
fn refused(session: &mut GuestSession, command: &str, words: &str) {
    let output = session.guest.sh(command).expect("an end");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_refused = output.status != 0 && said.contains(words);
    assert!(is_refused, "{command}: {words:?} is not in: {said}");
}

/// Asserts that nobody does anything to `path`, for a reason with `words`, and that it stays as it is.
#[track_caller]
fn all_refused(session: &mut GuestSession, path: &str, words: &str) {
    let before = sum(session);
    for command in commands(path) {
        refused(session, &command, words);
    }
    assert_eq!(sum(session), before);
}

/// Asserts that `path` may be wiped.
#[track_caller]
fn allowed(session: &mut GuestSession, path: &str) {
    session.ok(&format!("squall wipe --dry-run {path}"));
}

/// Keeps the serial number of `path`, with which commands confirm it.
fn keep_serial(session: &mut GuestSession, path: &str) {
    let listed = session.ok("squall drives --all --json");
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("a list");
    let drives = listed.as_array().expect("a list").iter();
    let mut drives = drives.filter(|drive| drive["path"] == path);
    let serial = drives.next().expect("it is listed")["serial"].clone();
    let serial = serial.as_str().expect("a serial number");
    session
        .guest
        .write_file("/tmp/serial", serial.as_bytes())
        .expect("room");
}

const MOUNT: &str = "mount -o ro -t ext4 /dev/sda /mnt";

/// Uses of the drive by one path: what begins it, what ends it, and what is said of it on the other path.
const USES: [(&str, &str, &str); 5] = [
    (
        "mkdir -p /boot && mount -o ro -t ext4 /dev/sda /boot",
        "umount /boot",
        "is another path to a disk of the running system: /boot is on it",
    ),
    (
        "dmsetup create held --table '0 2048 linear /dev/sda 8'",
        "dmsetup remove held",
        "its other path sda is held by dm-0 (held)",
    ),
    (
        "losetup -r /dev/loop0 /dev/sda",
        "losetup -d /dev/loop0",
        "its other path sda is held by loop0",
    ),
    // Another mount namespace leaves no other trace than the claim.
    (
        "(unshare -m sh -c 'mount -o ro -t ext4 /dev/sda /mnt && echo >/tmp/hidden && exec sleep 100000' \
         >/dev/null 2>&1 &) && until [ -e /tmp/hidden ]; do sleep 0.1; done",
        "kill $(pidof sleep); rm /tmp/hidden; until mount -o ro -t ext4 /dev/sda /mnt; do sleep 0.1; done; umount /mnt",
        "its other path sda: another process is using it",
    ),
    (
        "mkswap /dev/sda && swapon /dev/sda",
        "swapoff /dev/sda",
        "its other path sda is used as swap",
    ),
];

fn a_drive_in_use_by_another_path_is_refused() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "");
    session.ok("mke2fs -q /dev/sda && sync");
    keep_serial(&mut session, ONE);
    allowed(&mut session, OTHER);
    session.ok(MOUNT);
    all_refused(&mut session, OTHER, "its other path sda is mounted at /mnt");
    session.ok("umount /mnt");
    for (begin, end, words) in USES {
        session.ok(begin);
        refused(
            &mut session,
            &format!("squall wipe --dry-run {OTHER}"),
            words,
        );
        let listed = session.ok("squall drives");
        assert!(listed.ends_with("2 drives, 0 free\n"), "{listed}");
        let all = "squall wipe --all --yes --bus scsi --count 1 --report /tmp/all";
        refused(&mut session, all, "--count 1: no drive would be wiped");
        session.ok(end);
        // The control: once nobody uses it, it is taken.
        allowed(&mut session, OTHER);
    }
}

/// The drive has two partitions, of which the first is mounted by one path.
fn a_partition_in_use_by_another_path_is_refused() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "num_parts=2");
    session.wait_until_ok("[ -b /dev/sda2 ] && [ -b /dev/sdb2 ]");
    session.ok("mke2fs -q /dev/sda1 && sync && mount -o ro -t ext4 /dev/sda1 /mnt");
    let words = "its other path sda1 is mounted at /mnt";
    for path in [OTHER, "/dev/sdb1"] {
        keep_serial(&mut session, path);
        all_refused(&mut session, path, words);
    }
    // The other partition shares no bytes with it.
    allowed(&mut session, "/dev/sdb2");
    session.ok("umount /mnt");
    allowed(&mut session, OTHER);
    // Somebody uses the whole drive, as a file system without partitions does.
    session.ok("dmsetup create held --table '0 2048 linear /dev/sda 8'");
    let words = "its other path sda is held by dm-0 (held)";
    refused(&mut session, "squall wipe --dry-run /dev/sdb2", words);
    session.ok("dmsetup remove held");
    allowed(&mut session, "/dev/sdb2");
    for (targets, words) in [
        (
            "/dev/sda1 /dev/sdb1",
            "another path to the same drive as /dev/sda1",
        ),
        (
            "/dev/sda /dev/sdb1",
            "another path to the same drive as /dev/sda",
        ),
        (
            "/dev/sdb1 /dev/sda",
            "another path to the same drive as /dev/sdb1",
        ),
    ] {
        refused(
            &mut session,
            &format!("squall wipe --dry-run {targets}"),
            words,
        );
    }
    allowed(&mut session, "/dev/sda1 /dev/sdb2");
}

fn a_drive_is_wiped_once_and_by_one_path() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "");
    let listed = session.ok("squall drives --json");
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("a list");
    assert_eq!(listed[0]["other_paths"], serde_json::json!([OTHER]));
    assert_eq!(listed[1]["other_paths"], serde_json::json!([ONE]));
    refused(
        &mut session,
        &format!("squall wipe --dry-run {ONE} {OTHER}"),
        "another path to the same drive as /dev/sda",
    );
    // Whoever excepts the drive means all of its paths.
    let all = "wipe --all --yes --bus scsi --report /tmp/all";
    refused(
        &mut session,
        &format!("squall {all} --count 1 --except {ONE}"),
        "--count 1: no drive would be wiped",
    );
    let running = session.squall("all", &format!("{all} --count 1 --pass 0x5a"));
    let ran = session.end(running).succeeded();
    assert_eq!(ran.outcome(0), "verified");
    let journal = session.ok("ls /tmp/all/*-01-*.json");
    session.ok(&format!(
        "squall verify --report /tmp/verified {}",
        journal.trim()
    ));
}

fn nobody_gets_at_a_drive_by_another_path_meanwhile() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "");
    session.ok("mke2fs -q /dev/sda && sync");
    keep_serial(&mut session, ONE);
    let slowly = "--rate-limit 128KiB --checkpoint 1 --verify none";
    let serial = session.ok("cat /tmp/serial");
    let wipe = format!("wipe --yes --serial {serial} --report /tmp/slow {slowly} {ONE}");
    let running = session.squall("slow", &wipe);
    session.until_checkpoint(&running, 0);
    for command in commands(OTHER) {
        refused(&mut session, &command, "another process is using it");
    }
    // A mount claims a drive as the device mapper does.
    let takes =
        format!("dmsetup create taken --table '0 8 linear {OTHER} 0' && dmsetup remove taken");
    session.ok(&format!("! ({takes})"));
    session.kill(running);
    // The control.
    session.ok(&takes);
    // The job goes on by whichever path.
    let resumed = session.resume("slow", "").succeeded();
    assert_eq!(resumed.outcome(0), "overwritten");

    let size = "--size 48MiB";
    for command in [
        format!("squall stream --yes --serial {serial} --rate-limit 64KiB {size} --output {ONE}"),
        format!("squall dmcrypt bench --yes --serial {serial} {size} --device {ONE}"),
    ] {
        let job = session.guest.start(&command).expect("a job");
        session.wait_until_ok(&format!("ls -l /proc/$(pidof squall)/fd | grep -q {OTHER}"));
        session.wait_until_ok(&format!("ls -l /proc/$(pidof squall)/fd | grep -q {ONE}"));
        session.ok(&format!("! ({takes})"));
        session.ok("kill -KILL $(pidof squall)");
        session.guest.finish(job, TIMEOUT).expect("an end");
        session.wait_until_ok(&takes);
    }
}

/// The device mapper's multipath device holds both paths: it may be wiped, and they may not.
fn paths_below_a_multipath_device_are_its_own() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "");
    let sectors = 48 * MIB / 512;
    let table = |paths: &str, count: u32| {
        format!("0 {sectors} multipath 0 0 1 1 round-robin 0 {count} 1 {paths}")
    };
    session.ok(&format!(
        "dmsetup create many -u mpath-x --table '{}'",
        table("8:0 1 8:16 1", 2)
    ));
    allowed(&mut session, "/dev/mapper/many");
    for path in [ONE, OTHER] {
        let command = format!("squall wipe --dry-run {path}");
        refused(&mut session, &command, "is held by dm-0 (many)");
    }
    session.ok("dmsetup remove many");
    // Only one of the paths is in it, and somebody uses the other.
    session.ok(&format!(
        "dmsetup create many --table '{}'",
        table("8:0 1", 1)
    ));
    allowed(&mut session, "/dev/mapper/many");
    session.ok(&format!(
        "mke2fs -q {OTHER} && mount -o ro -t ext4 {OTHER} /mnt"
    ));
    refused(
        &mut session,
        "squall wipe --dry-run /dev/mapper/many",
        "sdb, whose data it holds, is mounted at /mnt",
    );
}

/// Two drives on one file and one on another, all with the same serial number and size, and no other names.
fn drives_without_names_are_told_apart_by_their_contents() {
    let workspace = Workspace::emulated();
    let twin = workspace.drive(Bus::VirtioBlk, "TWIN", 512, 8);
    let mut other = workspace.drive(Bus::VirtioBlk, "OTHER", 512, 8);
    other.serial = "TWIN".into();
    let mut session = workspace.boot(&["ext4"], vec![twin.clone(), twin, other]);
    session.ok("mke2fs /dev/vda && sync && mount -o ro -t ext4 /dev/vda /mnt");
    let words = "cannot be told apart from vda, because their serial numbers and sizes are equal";
    refused(&mut session, "squall wipe --dry-run /dev/vdb", words);
    allowed(&mut session, "/dev/vdc");
    // A copy of the drive holds the same bytes.
    session.ok("dd if=/dev/vda of=/dev/vdc bs=1M && sync");
    refused(&mut session, "squall wipe --dry-run /dev/vdc", words);
    session.ok("umount /mnt");
    allowed(&mut session, "/dev/vdb");
    allowed(&mut session, "/dev/vdc");
}
