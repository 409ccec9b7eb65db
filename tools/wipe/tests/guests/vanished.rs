//! Drives that vanish in the middle of a job and come back under other names.

use squall_guests::{Bus, Drive};

use crate::guests::workspace::{GuestSession, MIB, Workspace, id};
use squall_guests::needs::GUESTS;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_drive_that_vanishes_can_be_resumed_when_it_is_back: [GUESTS],
    a_deleted_drive_can_be_resumed_when_it_is_found_again: [GUESTS],
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
    let ran = session.resume("pulled", "").success();
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

/// The kernel's name for a drive.
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
        .failure("3 of 4 drives not wiped as asked");
    let journal = session.journal("pulled").expect("a journal");
    assert!(
        ran.errors
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
    let names_it = |serial: &&str| refused.errors.contains(*serial);
    assert!(GONE.iter().all(names_it), "{}", refused.errors);
    offsets
}

fn a_deleted_drive_can_be_resumed_when_it_is_found_again() {
    let workspace = Workspace::emulated();
    let stays = workspace.drive(Bus::VirtioBlk, "STAYS", 512, 1);
    let mut session = workspace.boot(&["scsi_debug", "sd_mod"], vec![stays]);
    session.ok("modprobe -a sd_mod && modprobe scsi_debug sector_size=4096 dev_size_mb=12 opts=0");
    session.wait_until_ok("[ -e /sys/block/sda/device/vpd_pg80 ]");
    let serial = session.ok("tail -c +5 /sys/block/sda/device/vpd_pg80 | tr -d ' '");
    session.name(&serial);

    let running = session.start("deleted", SLOWLY, &[&serial, "STAYS"]);
    let offset = session.until_checkpoint(&running, 0);
    session.ok("echo 1 >/sys/block/sda/device/delete");
    let ran = session.end(running).failure("1 of 2 drives");
    assert_eq!([ran.outcome(0), ran.outcome(1)], ["vanished", "verified"]);

    session.ok("for host in /sys/class/scsi_host/*; do echo - - - >$host/scan; done");
    session.wait_until_ok("[ -e /sys/block/sd? ] && head -c 1 /dev/sd?");
    let ran = session.resume("deleted", "").success();
    assert!(ran.events("pass")[0]["offset"].as_u64() >= Some(offset));
    let written = session.keystream("deleted", 0, SIZE);
    session.name(&serial);
    assert!(session.guest.read_file(&id(&serial)).expect("a drive") == written);
}
