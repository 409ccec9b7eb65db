//! Power cuts in the middle of a job.

use squall_guests::Bus;

use crate::guests::workspace::{MIB, OLD, Workspace, id};
use squall_guests::needs::GUESTS;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_job_continues_after_a_power_cut: [GUESTS],
];

const SIZE: usize = 16 * MIB as usize;

/// The drives that are wiped.
const DRIVES: [&str; 2] = ["CUT-BLK", "CUT-NVME"];

fn a_job_continues_after_a_power_cut() {
    let workspace = Workspace::emulated();
    let drives = vec![
        workspace.drive(Bus::VirtioBlk, DRIVES[0], 512, 16),
        workspace.drive(Bus::Nvme, DRIVES[1], 4096, 16),
        workspace.drive(Bus::VirtioScsi, "REPORTS", 512, 8),
    ];
    let mut session = workspace.boot(&["ext4"], drives.clone());
    session.ok(&format!("mke2fs {}", id("REPORTS")));
    session.keep_reports_on("REPORTS");
    let slowly = "--keep-key --rate-limit 256KiB --checkpoint 1";
    let running = session.start("cut", slowly, &DRIVES);
    let offsets = [0, 1].map(|drive| session.until_checkpoint(&running, drive));
    session.guest.cut_power();
    let written = DRIVES.map(|serial| workspace.medium(serial));
    for medium in &written {
        assert!(medium[SIZE - MIB as usize..] == [OLD; MIB as usize]);
    }

    let mut session = workspace.boot(&["ext4"], drives);
    // Nobody has checked this file system since the power cut.
    let reports = id("REPORTS");
    session.ok(&format!(
        "mount -t ext4 -o ro {reports} /mnt && cp -a /mnt/cut /tmp"
    ));
    let ran = session.resume("cut", "").succeeded();
    let passes = ran.events("pass");
    for (drive, serial) in DRIVES.into_iter().enumerate() {
        let pass = passes.iter().find(|pass| pass["drive"] == drive);
        let from = pass.expect("a pass")["offset"].as_u64();
        let from = from.expect("an offset");
        let possible = offsets[drive]..SIZE as u64;
        assert!(possible.contains(&from), "{serial}: {from}");
        assert_eq!(ran.outcome(drive as u64), "verified", "{serial}");
        let key = session.keystream("cut", drive, SIZE);
        assert!(workspace.medium(serial) == key, "{serial}");
        // Everything before the checkpoint was on the drive when the power was cut.
        let kept = ..from as usize;
        assert!(written[drive][kept] == key[kept], "{serial}");
    }
    assert_eq!(session.journal("cut"), None);
}
