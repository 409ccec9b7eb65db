//! Devices that are no drives: arrays, memory, volumes and their snapshots. What overwriting does not reach there is
//! refused, or named in the plan and the report, and no such device reaches a level.

use serde_json::{Value, json};
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{GuestSession, Workspace};

pub const TESTS: &[Test] = tests![
    an_array_whose_member_has_left_reaches_no_level: [USER_MODE],
    a_container_of_arrays_does_not_block_them: [USER_MODE],
    memory_reaches_no_level: [USER_MODE],
    an_origin_is_refused_while_it_has_a_snapshot: [USER_MODE],
    other_volumes_of_a_thin_pool_are_named: [USER_MODE],
    what_others_are_made_from_is_refused: [USER_MODE],
];

/// A guest with two drives of 32 MiB, and these modules.
fn boot<'w>(workspace: &'w Workspace, modules: &[&str]) -> GuestSession<'w> {
    let all = [&["scsi_debug", "sd_mod", "ext4", "dm-mod"], modules].concat();
    let mut session = workspace.boot(&all, Vec::new());
    session.ok("modprobe -a sd_mod dm-mod");
    session.ok("modprobe scsi_debug dev_size_mb=32 add_host=2 per_host_store=1");
    session.wait_until_ok("[ -b /dev/sda ] && [ -b /dev/sdb ] && : </dev/sda && : </dev/sdb");
    session
}

/// A line that is looked for on devices.
const SECRET: &str = "a line that is to be overwritten";

/// Fills `device` with lines.
fn fill(session: &mut GuestSession, device: &str) {
    session.ok(&format!(
        "yes '{SECRET}' | dd of={device} bs=1M || sync {device}"
    ));
}

/// Whether `device` holds the line.
fn holds_secret(session: &mut GuestSession, device: &str) -> bool {
    session.ok("echo 3 >/proc/sys/vm/drop_caches");
    let found = format!("grep -qaF '{SECRET}' {device} && echo yes || echo no");
    session.ok(&found) == "yes\n"
}

/// Wipes `device`, and returns its record and its page.
#[track_caller]
fn wiped(session: &mut GuestSession, name: &str, device: &str) -> (Value, String) {
    let link = format!("/dev/disk/by-id/{name}");
    session.ok(&format!("ln -sf $(readlink -f {device}) {link}"));
    let ran = session.wipe(name, "", &[name]).succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert!(!holds_secret(session, device));
    (session.report(name, 0), session.page(name, 0))
}

/// The plan for `device` as the last line of a dry run.
#[track_caller]
fn planned(session: &mut GuestSession, device: &str) -> Value {
    let running = session.squall("planned", &format!("wipe --dry-run {device}"));
    session.end(running).succeeded().events("plan")[0].clone()
}

/// The kernel's name of a mapped device, such as `dm-3`.
#[track_caller]
fn kernel_name(session: &mut GuestSession, mapped: &str) -> String {
    let asked = format!("dmsetup info -c --noheadings -o blkdevname {mapped}");
    session.ok(&asked).trim().to_owned()
}

fn an_array_whose_member_has_left_reaches_no_level() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, &["raid1"]);
    session.ok(
        "modprobe raid1 && mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 \
         --homehost=any /dev/sda /dev/sdb",
    );
    session.wait_until_ok("grep -q idle /sys/block/md0/md/sync_action");
    fill(&mut session, "/dev/md0");
    session.ok("mdadm /dev/md0 --fail /dev/sdb && mdadm /dev/md0 --remove /dev/sdb");
    let missing = "md0: members missing: 1 of 2; they keep what they held";
    assert_eq!(
        planned(&mut session, "/dev/md0")["copies"],
        json!([[missing]])
    );
    let (record, page) = wiped(&mut session, "array", "/dev/md0");
    assert_eq!(record["target"]["kind"], "virtual");
    assert_eq!(record["target"]["storage"], "array");
    assert_eq!(record["level"], Value::Null);
    assert_eq!(
        record["notes"][0]["text"],
        format!("overwriting does not reach older copies: {missing}")
    );
    let left = "Drives that have left it keep what they held";
    for words in [left, missing, "this storage is an array of drives"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(holds_secret(&mut session, "/dev/sdb"));

    // The control: a drive by itself reaches a level.
    let (record, page) = wiped(&mut session, "member", "/dev/sdb");
    assert_eq!(record["target"]["kind"], "disk");
    assert_eq!(record["target"]["storage"], "drive");
    assert_eq!(record["level"], "clear");
    assert!(!page.contains(left), "{page}");
}

/// A container and a volume, both of which hold each drive, as with Intel's VROC.
const CONTAINER: &str = "set -e
modprobe raid0
new=/sys/module/md_mod/parameters/new_array
echo md_con >$new
cd /sys/block/md_con/md
echo external:any >metadata_version
for drive in 8:0 8:16; do echo $drive >new_dev; done
echo md_vol >$new
cd /sys/block/md_vol/md
echo external:/md_con/0 >metadata_version
echo raid0 >level
echo 2 >raid_disks
echo 65536 >chunk_size
for drive in 8:0 8:16; do echo $drive >new_dev; done
slot=0
for drive in dev-sda dev-sdb; do
    echo 0 >$drive/offset
    echo 16384 >$drive/size
    echo $slot >$drive/slot
    slot=$((slot + 1))
done
echo active >array_state
";

fn a_container_of_arrays_does_not_block_them() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, &["raid0"]);
    session.ok(CONTAINER);
    session.may_wipe("/dev/md_vol");
    session.refuses_to_wipe("/dev/sda", "is held by md_con, md_vol");
    session.ok("mke2fs -q /dev/md_vol && mount -o ro -t ext4 /dev/md_vol /mnt");
    session.refuses_to_wipe("/dev/md_vol", "is mounted at /mnt");
}

fn memory_reaches_no_level() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, &["brd", "zram"]);
    session.ok("modprobe brd rd_nr=1 rd_size=8192 && modprobe zram num_devices=1");
    session.ok("echo 8M >/sys/block/zram0/disksize");
    for device in ["ram0", "zram0"] {
        let (record, page) = wiped(&mut session, device, &format!("/dev/{device}"));
        assert_eq!(record["target"]["kind"], "virtual", "{device}");
        assert_eq!(record["target"]["storage"], "memory", "{device}");
        assert_eq!(record["level"], Value::Null, "{device}");
        let words = "This device is in the machine's memory";
        assert!(page.contains(words), "{page}");
    }
}

/// Made by LVM. Another volume beside the origin is in use all the time.
fn an_origin_is_refused_while_it_has_a_snapshot() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, &["dm-snapshot"]);
    session.ok("lvm pvcreate -qq -y /dev/sda && lvm vgcreate -qq vg /dev/sda");
    session.ok("lvm lvcreate -qq -Wn -Zn -L 8M -n origin vg && lvm lvcreate -qq -Wn -Zn -L 4M -n beside vg");
    session.ok("mke2fs -q /dev/mapper/vg-beside && mount -o ro -t ext4 /dev/mapper/vg-beside /mnt");
    session.ok("mke2fs -q /dev/mapper/vg-origin");
    session.may_wipe("/dev/mapper/vg-origin");
    session.ok("lvm lvcreate -qq -s -L 12M -n snap vg/origin");
    session.ok("mkdir /tmp/backup && mount -o ro -t ext4 /dev/mapper/vg-snap /tmp/backup");
    let snapshot = kernel_name(&mut session, "vg-snap");
    let held = format!("is held by {snapshot} (vg-snap), a snapshot");
    let mounted = format!("{held}, mounted at /tmp/backup");
    session.refuses_to_wipe("/dev/mapper/vg-origin", &mounted);
    let listed = session.ok("squall drives --all");
    let origin = kernel_name(&mut session, "vg-origin");
    let mut lines = listed.lines();
    let line = lines.find(|line| line.starts_with(&format!("/dev/{origin} ")));
    assert!(line.is_some_and(|line| line.contains(&mounted)), "{listed}");
    // Also while nobody uses it: it would keep what the origin held.
    session.ok("umount /tmp/backup");
    session.refuses_to_wipe("/dev/mapper/vg-origin", &held);
    let held = format!("is held by {origin} (vg-origin)");
    session.refuses_to_wipe("/dev/mapper/vg-snap", &held);
    session.ok("lvm lvremove -qq -y vg/snap");
    // The control, and with it that the volume beside is nobody's copy.
    session.may_wipe("/dev/mapper/vg-origin");
}

/// Only the pool's metadata say which volumes are snapshots, so all are named.
fn other_volumes_of_a_thin_pool_are_named() {
    let workspace = Workspace::user_mode();
    let mut session = boot(&workspace, &["dm-thin-pool"]);
    session.ok("dmsetup create meta --table '0 8192 linear /dev/sda 0'
         dmsetup create data --table '0 49152 linear /dev/sda 8192'
         dd if=/dev/zero of=/dev/mapper/meta bs=4k count=1
         dmsetup create pool --table '0 49152 thin-pool /dev/mapper/meta /dev/mapper/data 128 0'
         dmsetup message pool 0 'create_thin 0'
         dmsetup create origin --table '0 16384 thin /dev/mapper/pool 0'");
    fill(&mut session, "/dev/mapper/origin");
    let pool = kernel_name(&mut session, "pool");
    let text = format!(
        "thin pool {pool} (pool): its snapshots, also those that are not active, and blocks that were freed keep old \
         data: `lvs -a` shows its volumes"
    );
    assert_eq!(
        planned(&mut session, "/dev/mapper/origin")["copies"],
        json!([[text]])
    );
    session.ok("dmsetup suspend origin
         dmsetup message pool 0 'create_snap 1 0'
         dmsetup resume origin
         dmsetup create snap --table '0 16384 thin /dev/mapper/pool 1'");
    let snapshot = kernel_name(&mut session, "snap");
    let named = format!("{text} (active: {snapshot} (snap))");
    assert_eq!(
        planned(&mut session, "/dev/mapper/origin")["copies"],
        json!([[named]])
    );
    let (record, page) = wiped(&mut session, "thin", "/dev/mapper/origin");
    assert_eq!(record["level"], Value::Null);
    assert_eq!(
        record["notes"][0]["text"],
        format!("overwriting does not reach older copies: {named}")
    );
    assert!(page.contains(&named), "{page}");
    assert!(holds_secret(&mut session, "/dev/mapper/snap"));
}

/// An external origin of a thin volume, the source of a clone, and what an era is kept of.
fn what_others_are_made_from_is_refused() {
    let workspace = Workspace::user_mode();
    let modules = ["dm-thin-pool", "dm-clone", "dm-era"];
    let mut session = boot(&workspace, &modules);
    session.ok("dmsetup create origin --table '0 16384 linear /dev/sdb 0'
         for name in meta1 meta2 meta3; do
             dmsetup create $name --table \"0 2048 linear /dev/sda $((at + 0))\"
             dd if=/dev/zero of=/dev/mapper/$name bs=4k count=1
             at=$((at + 2048))
         done
         dmsetup create data --table '0 24576 linear /dev/sda 8192'
         dmsetup create copy --table '0 16384 linear /dev/sda 32768'");
    let origin = "/dev/mapper/origin";
    for (name, table) in [
        ("thin", "0 16384 thin /dev/mapper/pool 0 /dev/mapper/origin"),
        (
            "cloned",
            "0 16384 clone /dev/mapper/meta2 /dev/mapper/copy /dev/mapper/origin 8",
        ),
        (
            "era",
            "0 16384 era /dev/mapper/meta3 /dev/mapper/origin 128",
        ),
    ] {
        session.may_wipe(origin);
        if name == "thin" {
            session.ok(
                "dmsetup create pool --table '0 24576 thin-pool /dev/mapper/meta1 /dev/mapper/data 128 0'
                 dmsetup message pool 0 'create_thin 0'",
            );
        }
        session.ok(&format!("dmsetup create {name} --table '{table}'"));
        let number = kernel_name(&mut session, name);
        session.refuses_to_wipe(origin, &format!("is held by {number} ({name})"));
        if name == "cloned" {
            let copies = planned(&mut session, "/dev/mapper/cloned")["copies"].to_string();
            assert!(
                copies.contains("the device that it was cloned from keeps its data"),
                "{copies}"
            );
        }
        session.ok(&format!("dmsetup remove {name}"));
    }
    session.may_wipe(origin);
}
