//! Drives that are in use or cannot be wiped: they are refused and stay as they were. Once they are free, their reports
//! have what drives of each kind say of their health, by a kernel's own drivers.

use serde_json::{Value, json};
use squall_guests::Bus;

use crate::guests::workspace::{GuestSession, MIB, Workspace, id};
use squall_guests::needs::GUESTS;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    drives_in_use_are_refused_and_unchanged: [GUESTS],
];

const SIZE: u64 = 12 * MIB;

const SECTORS: u64 = SIZE / 512;

/// The drive that somebody uses.
const USED: &str = "USED";

fn drives_in_use_are_refused_and_unchanged() {
    let workspace = Workspace::emulated();
    let drives = vec![
        workspace.drive(Bus::VirtioBlk, USED, 512, 12),
        workspace.drive(Bus::VirtioScsi, "FREE", 4096, 12),
        workspace.drive(Bus::Nvme, "NVME", 4096, 12),
        workspace.drive(Bus::Sata, "SATA", 512, 12),
    ];
    let modules = ["dm-mod", "ext4", "null_blk"];
    let mut session = workspace.boot(&modules, drives);
    drives_are_distinguished(&mut session);
    mounted_on_a_mapped(&workspace, &mut session);
    zoned(&mut session);
    reports_have_what_drives_say(&mut session);
    assert!(!workspace.is_old("FREE"));
}

/// A dry run describes each drive.
fn drives_are_distinguished(session: &mut GuestSession) {
    let drives = [USED, "FREE", "NVME"];
    let expected = [
        (Value::Null, 512, Value::Null),
        ("QEMU QEMU HARDDISK".into(), 4096, Value::Null),
        ("QEMU NVMe Ctrl".into(), 4096, true.into()),
    ];
    let running = session.start("plan", "--dry-run", &drives);
    let ran = session.end(running).succeeded();
    let plan = ran.events("plan")[0]["drives"].clone();
    for (drive, (serial, (model, sector, flash))) in drives.into_iter().zip(expected).enumerate() {
        let told = &plan[drive];
        assert_eq!(told["serial"], serial);
        assert_eq!(told["model"], model, "{serial}");
        assert_eq!(told["size"], SIZE, "{serial}");
        assert_eq!(told["sector"], sector, "{serial}");
        assert_eq!(told["flash"], flash, "{serial}");
        assert_eq!(told["kind"], "disk", "{serial}");
        let path = session.ok(&format!("readlink -f {}", id(serial)));
        assert_eq!(told["path"], path.trim(), "{serial}");
    }
}

/// The file system is mounted read-only, because one that may write does so at any time.
fn mounted_on_a_mapped(workspace: &Workspace, session: &mut GuestSession) {
    session.map("volume", &format!("0 {SECTORS} linear {} 0", id(USED)));
    session.ok("mke2fs /dev/mapper/volume && mount -o ro -t ext4 /dev/mapper/volume /mnt && sync");
    let before = workspace.medium(USED);
    let refused = session.wipe("refused", "", &["FREE", USED]);
    refused.refused("is held by dm-0 (volume), mounted at /mnt");
    session.ok("sync");
    assert!(workspace.medium(USED) == before && workspace.is_old("FREE"));
    // The control: once it is free, it is no longer refused.
    session.ok("umount /mnt && dmsetup remove volume");
    let allowed = session.wipe("refused", "--dry-run", &["FREE", USED]);
    allowed.succeeded();
}

/// A drive with sequential zones is refused; the same drive without zones is wiped.
fn zoned(session: &mut GuestSession) {
    let make = "modprobe null_blk nr_devices=1 gb=1 memory_backed=1";
    for (zoned, status) in [(1, 2), (0, 0)] {
        session.ok(&format!(
            "{make} zoned={zoned} && ln -sf /dev/nullb0 {}",
            id("NULL")
        ));
        let ran = session.wipe("zones", "--dry-run", &["NULL"]);
        assert_eq!(ran.code, Some(status), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("has zones (host-managed)"), zoned == 1);
        session.ok("rmmod null_blk");
    }
}

fn reports_have_what_drives_say(session: &mut GuestSession) {
    let drives = ["NVME", "SATA", "FREE", USED];
    session
        .wipe("free", "--asset NVME=A-1", &drives)
        .succeeded();
    let nvme = session.report("free", 0);
    assert_eq!(nvme["asset"], "A-1");
    // The drive is a hypervisor's, whatever its bus.
    assert_eq!(nvme["target"]["storage"], "host");
    assert_eq!(nvme["level"], Value::Null);
    let (health, sata) = (&nvme["health"], &session.report("free", 1)["health"]);
    // What QEMU's drives have.
    for moment in ["before", "after"] {
        for (drive, figure, expected) in [
            (health, "celsius", json!(50)),
            (health, "healthy", json!(true)),
            (health, "critical_warning", json!(0)),
            (health, "reallocated_sectors", Value::Null),
            (sata, "celsius", json!(31)),
            (sata, "healthy", json!(true)),
            (sata, "power_on_hours", json!(1)),
            (sata, "reallocated_sectors", json!(0)),
            (sata, "percentage_used", Value::Null),
        ] {
            assert_eq!(drive[moment][figure], expected, "{figure}: {drive}");
        }
    }
    let written = |moment: &str| health[moment]["bytes_written"].as_u64().expect("bytes");
    assert!(
        written("after") >= written("before") + 12_000_000,
        "{health}"
    );

    // The controls: drives that say nothing.
    let nothing = json!({ "before": null, "after": null });
    for drive in [2, 3] {
        assert_eq!(session.report("free", drive)["health"], nothing);
    }
    let whole = session.report_file("free", 0, "json");
    let whole: Value = serde_json::from_slice(&whole).expect("JSON");
    assert_eq!(whole["tool"]["machine"]["vendor"], "QEMU");
    let page = session.page("free", 0);
    for figure in [">Life used<", ">50 °C</td>"] {
        assert!(page.contains(figure), "{page}");
    }
}
