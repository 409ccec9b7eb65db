//! Drives that are reached by two paths, of which nobody tells the kernel that they are one: two SCSI hosts with one
//! store, as with a drive with two cables and no multipathd; and two drives of a virtual machine on one file. What
//! somebody uses by one path is not overwritten by the other.

use serde_json::{Value, json};
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
    a_path_that_appears_later_is_left_out: [USER_MODE],
    volumes_on_one_drive_are_wiped_together: [USER_MODE],
    paths_below_a_multipath_device_are_its_own: [USER_MODE],
    namespaces_by_two_controllers_are_one: [GUESTS],
    what_is_served_to_other_machines_is_refused: [GUESTS],
    drives_with_equal_names_are_told_apart_by_their_contents: [GUESTS],
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

/// Commands that would overwrite or read the drive at `path`, which has this serial number.
fn commands(path: &str, serial: &str) -> Vec<String> {
    let yes = format!("--yes --serial {serial}");
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

/// Asserts that nobody does anything to `path`, for a reason with `words`, and that it stays as it is.
#[track_caller]
fn all_refused(session: &mut GuestSession, path: &str, words: &str) {
    let before = sum(session);
    let serial = serial(session, path);
    for command in commands(path, &serial) {
        session.refuses(&command, words);
    }
    assert_eq!(sum(session), before);
}

/// The serial number of `path`, with which commands confirm it.
fn serial(session: &mut GuestSession, path: &str) -> String {
    let listed = session.ok("squall drives --all --json");
    let listed: Value = serde_json::from_str(&listed).expect("a list");
    let mut drives = listed.as_array().expect("a list").iter();
    let drive = drives.find(|drive| drive["path"] == path);
    let serial = drive.expect("it is listed")["serial"].as_str();
    serial.expect("a serial number").to_owned()
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
    session.may_wipe(OTHER);
    session.ok(MOUNT);
    all_refused(&mut session, OTHER, "its other path sda is mounted at /mnt");
    session.ok("umount /mnt");
    for (begin, end, words) in USES {
        session.ok(begin);
        session.refuses_to_wipe(OTHER, words);
        let listed = session.ok("squall drives");
        assert!(listed.ends_with("1 drive, 0 free\n"), "{listed}");
        let all = "squall wipe --all --yes --bus scsi --count 1 --report /tmp/all";
        session.refuses(all, "--count 1: no drive would be wiped");
        session.ok(end);
        // The control: once nobody uses it, it is taken.
        session.may_wipe(OTHER);
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
        all_refused(&mut session, path, words);
    }
    // The other partition shares no bytes with it.
    session.may_wipe("/dev/sdb2");
    session.ok("umount /mnt");
    session.may_wipe(OTHER);
    // Somebody uses the whole drive, as a file system without partitions does.
    session.ok("dmsetup create held --table '0 2048 linear /dev/sda 8'");
    let words = "its other path sda is held by dm-0 (held)";
    session.refuses_to_wipe("/dev/sdb2", words);
    session.ok("dmsetup remove held");
    session.may_wipe("/dev/sdb2");
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
        session.refuses_to_wipe(targets, words);
    }
    session.may_wipe("/dev/sda1 /dev/sdb2");
}

fn a_drive_is_wiped_once_and_by_one_path() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "");
    let listed = session.ok("squall drives --json");
    let listed: Value = serde_json::from_str(&listed).expect("a list");
    assert_eq!(listed[0]["other_paths"], json!([OTHER]));
    assert_eq!(listed[1]["other_paths"], json!([ONE]));
    session.refuses_to_wipe(
        &format!("{ONE} {OTHER}"),
        "another path to the same drive as /dev/sda",
    );
    // Whoever excepts the drive means all of its paths.
    let all = "wipe --all --yes --bus scsi --report /tmp/all";
    session.refuses(
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
    let slowly = "--rate-limit 128KiB --checkpoint 1 --verify none";
    let serial = serial(&mut session, ONE);
    let wipe = format!("wipe --yes --serial {serial} --report /tmp/slow {slowly} {ONE}");
    let running = session.squall("slow", &wipe);
    session.until_checkpoint(&running, 0);
    for command in commands(OTHER, &serial) {
        session.refuses(&command, "another process is using it");
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

    let options = format!("--yes --serial {serial} --size 48MiB");
    for (command, has_begun) in [
        (
            format!("squall stream {options} --rate-limit 64KiB --output {ONE}"),
            "[ $(head -c 4096 /dev/sda | tr -d '\\132' | wc -c) -gt 0 ]",
        ),
        (
            format!("squall dmcrypt bench {options} --device {ONE}"),
            "dmsetup ls | grep -q '^squall-dmcrypt.*claim'",
        ),
    ] {
        session.ok(&format!(
            "yes ZZZ | tr -d '\\n' | dd of={ONE} bs=1M count=8 iflag=fullblock"
        ));
        let job = session.guest.start(&command).expect("a job");
        session.wait_until_ok(has_begun);
        session.ok(&format!("! ({takes})"));
        session.ok("kill -KILL $(pidof squall)");
        session.guest.finish(job, TIMEOUT).expect("an end");
        session.wait_until_ok(&takes);
    }
}

/// A drive is mounted by its only path. While squall has wiped another one and waits for more, a second path to the first
/// appears, and then a third drive.
fn a_path_that_appears_later_is_left_out() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "");
    let module = "/sys/bus/pseudo/drivers/scsi_debug";
    let new_drive = format!(
        "echo 1 >{module}/per_host_store && echo 1 >{module}/vpd_use_hostno && echo 1 >{module}/add_host"
    );
    session.ok(&format!("echo -1 >{module}/add_host"));
    session.wait_until_ok(&format!("[ ! -e {OTHER} ]"));
    session.ok(&format!(
        "mke2fs -q {ONE} && sync && {MOUNT} && {new_drive}"
    ));
    session.wait_until_ok(&format!("[ -b {OTHER} ] && : <{OTHER}"));
    let before = sum(&mut session);
    let wipe = "wipe --yes --all --bus scsi --watch --count 1 --report /tmp/watch";
    let running = session.squall("watch", wipe);
    session.until(&running, 0, |event| event["event"] == "ended");
    session.ok(&format!(
        "echo 0 >{module}/per_host_store && echo 0 >{module}/vpd_use_hostno && echo 1 >{module}/add_host"
    ));
    session.until_remark(&running, "left out: it was left out before");
    // The control.
    session.ok(&new_drive);
    session.until(&running, 1, |event| event["event"] == "ended");
    assert_eq!(sum(&mut session), before);
    session.ok("kill -s TERM $(pidof squall)");
    assert_eq!(session.end(running).succeeded().outcome(1), "verified");
}

/// Each volume claims the drive's other path.
fn volumes_on_one_drive_are_wiped_together() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, "");
    for (name, start) in [("one", 0), ("two", 8192)] {
        session.map(name, &format!("0 8192 linear {ONE} {start}"));
    }
    let ran = session.wipe("together", "", &["one", "two"]).succeeded();
    assert_eq!([ran.outcome(0), ran.outcome(1)], ["verified", "verified"]);
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
    session.may_wipe("/dev/mapper/many");
    for path in [ONE, OTHER] {
        session.refuses_to_wipe(path, "is held by dm-0 (many)");
    }
    session.ok("dmsetup remove many");
    // Only one of the paths is in it, and somebody uses the other.
    session.ok(&format!(
        "dmsetup create many --table '{}'",
        table("8:0 1", 1)
    ));
    session.may_wipe("/dev/mapper/many");
    session.ok(&format!(
        "mke2fs -q {OTHER} && mount -o ro -t ext4 {OTHER} /mnt"
    ));
    session.refuses_to_wipe(
        "/dev/mapper/many",
        "sdb, whose data it holds, is mounted at /mnt",
    );
}

const SUBSYSTEM: &str = "nqn.2026-11.squall:paths";

const NAMESPACE: &str = "/sys/kernel/config/nvmet/subsystems/nqn.2026-11.squall:paths/namespaces/1";

/// Serves the device or file at `path` as an NVMe namespace.
fn serve(session: &mut GuestSession, path: &str) {
    session.ok(&format!(
        "modprobe nvme_loop
         mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
         mkdir -p {NAMESPACE}
         echo {path} >{NAMESPACE}/device_path && echo 1 >{NAMESPACE}/enable"
    ));
}

/// Connects to the subsystem by two controllers.
const CONNECT: &str = "set -e
cd /sys/kernel/config/nvmet
subsystem=nqn.2026-11.squall:paths
echo 1 >subsystems/$subsystem/attr_allow_any_host
mkdir ports/1
echo loop >ports/1/addr_trtype
ln -s $PWD/subsystems/$subsystem ports/1/subsystems/
host=nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000001
id=00000000-0000-0000-0000-000000000001
for _ in 1 2; do
    echo transport=loop,nqn=$subsystem,hostnqn=$host,hostid=$id,duplicate_connect >/dev/nvme-fabrics
done
";

fn namespaces_by_two_controllers_are_one() {
    let workspace = Workspace::emulated();
    let drive = workspace.drive(Bus::VirtioBlk, "BELOW", 512, 8);
    // The kernel makes two devices of them, or one with two paths.
    let boot = |multipath: &str, last: &str| {
        let parameter = format!("nvme_core.multipath={multipath}");
        let modules = ["nvme_loop", "ext4"];
        let mut session = workspace.boot_with(&modules, vec![drive.clone()], &parameter);
        serve(&mut session, "/dev/vda");
        session.ok(CONNECT);
        session.wait_until_ok(&format!("[ -b {last} ] && : <{last}"));
        session.ok("mke2fs -q /dev/nvme0n1 && sync && mount -o ro -t ext4 /dev/nvme0n1 /mnt");
        session
    };
    let mut session = boot("N", "/dev/nvme1n1");
    let words = "its other path nvme0n1 is mounted at /mnt";
    session.refuses_to_wipe("/dev/nvme1n1", words);
    session.ok("umount /mnt");
    session.may_wipe("/dev/nvme1n1");
    drop(session);

    let mut session = boot("Y", "/dev/nvme0n1");
    session.wait_until_ok("[ -e /sys/class/nvme/nvme1 ]");
    session.refuses_to_wipe("/dev/nvme0n1", "nvme0n1: is mounted at /mnt");
    session.ok("umount /mnt");
    session.may_wipe("/dev/nvme0n1");
    let listed = session.ok("squall drives");
    assert_eq!(listed.matches("/dev/nvme").count(), 1, "{listed}");
}

/// The kernel does not claim what it serves: a device, by a path that may be gone, a file, and all of a controller.
fn what_is_served_to_other_machines_is_refused() {
    let workspace = Workspace::emulated();
    let drives = [("SERVED", Bus::VirtioBlk), ("PASSED", Bus::Nvme)];
    let drives = drives.map(|(serial, bus)| workspace.drive(bus, serial, 512, 8));
    let mut session = workspace.boot(&["nvme_loop"], drives.to_vec());
    session.ok("truncate -s 8M /tmp/image && mkdir /tmp/link && ln -s /dev/vda /tmp/link/vda");
    let words = format!("is served to other machines as an NVMe namespace of {SUBSYSTEM}");
    for (served, target) in [
        ("/dev/vda", "/dev/vda"),
        ("/tmp/link/vda", "/dev/vda"),
        ("/tmp/image", "/tmp/image"),
    ] {
        session.may_wipe(target);
        serve(&mut session, served);
        session.ok("rm -rf /tmp/link");
        session.refuses_to_wipe(target, &words);
        session.ok(&format!("echo 0 >{NAMESPACE}/enable"));
        session.may_wipe(target);
        session.ok("mkdir /tmp/link && ln -s /dev/vda /tmp/link/vda");
    }
    session.may_wipe("/dev/nvme0n1");
    let passthru = format!("/sys/kernel/config/nvmet/subsystems/{SUBSYSTEM}/passthru");
    session.ok(&format!(
        "rmdir {NAMESPACE} && echo /dev/nvme0 >{passthru}/device_path && echo 1 >{passthru}/enable"
    ));
    session.refuses_to_wipe("/dev/nvme0n1", &words);
    session.ok(&format!("echo 0 >{passthru}/enable"));
    session.may_wipe("/dev/nvme0n1");
}

/// Two drives on one file and one on another, all with the same serial number and size, and no other names.
fn drives_with_equal_names_are_told_apart_by_their_contents() {
    let workspace = Workspace::emulated();
    let twin = workspace.drive(Bus::VirtioBlk, "TWIN", 512, 8);
    let mut other = workspace.drive(Bus::VirtioBlk, "OTHER", 512, 8);
    other.serial = "TWIN".into();
    let mut session = workspace.boot(&["ext4"], vec![twin.clone(), twin, other]);
    session.ok("mke2fs /dev/vda && sync && mount -o ro -t ext4 /dev/vda /mnt");
    let words = "cannot be told apart from vda, because their serial numbers and sizes are equal, and so are their \
                 contents";
    session.refuses_to_wipe("/dev/vdb", words);
    session.may_wipe("/dev/vdc");
    // A copy of the drive holds the same bytes.
    session.ok("dd if=/dev/vda of=/dev/vdc bs=1M && sync");
    session.refuses_to_wipe("/dev/vdc", words);
    session.ok("umount /mnt");
    session.may_wipe("/dev/vdb");
    session.may_wipe("/dev/vdc");
}
