//! What drives of each kind say of their health, by a kernel's own drivers, in the reports of `squall wipe`.

use serde_json::{Value, json};
use squall_guests::Bus;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::Workspace;
use squall_guests::needs::GUESTS;

pub const TESTS: &[Test] = tests![
    reports_have_what_drives_say: [GUESTS],
];

const SIZE: u64 = 8;

fn reports_have_what_drives_say() {
    let workspace = Workspace::emulated();
    let drives = vec![
        workspace.drive(Bus::Nvme, "NVME", 512, SIZE),
        workspace.drive(Bus::Sata, "SATA", 512, SIZE),
        workspace.drive(Bus::VirtioScsi, "SCSI", 512, SIZE),
        workspace.drive(Bus::VirtioBlk, "SILENT", 512, SIZE),
    ];
    let mut session = workspace.boot(&[], drives);
    let serials = ["NVME", "SATA", "SCSI", "SILENT"];
    session.wipe("all", "--asset NVME=A-1", &serials).success();
    let mut report = |drive| session.report("all", drive);

    let nvme = report(0);
    assert_eq!(nvme["asset"], "A-1");
    assert_eq!(nvme["level"], "clear");
    let health = &nvme["health"];
    for moment in ["before", "after"] {
        // QEMU's drive has 323 K.
        assert_eq!(health[moment]["celsius"], 50, "{health}");
        assert_eq!(health[moment]["healthy"], true, "{health}");
        assert_eq!(health[moment]["critical_warning"], 0, "{health}");
        assert_eq!(health[moment]["reallocated_sectors"], Value::Null);
    }
    let written = |moment: &str| health[moment]["bytes_written"].as_u64().expect("bytes");
    assert!(
        written("after") >= written("before") + SIZE * 1_000_000,
        "{health}"
    );

    let sata = &report(1)["health"];
    for moment in ["before", "after"] {
        // QEMU's drive has these.
        assert_eq!(sata[moment]["celsius"], 31, "{sata}");
        assert_eq!(sata[moment]["healthy"], true, "{sata}");
        assert_eq!(sata[moment]["power_on_hours"], 1, "{sata}");
        assert_eq!(sata[moment]["reallocated_sectors"], 0, "{sata}");
        assert_eq!(sata[moment]["percentage_used"], Value::Null);
    }

    // The controls: drives that say nothing.
    let nothing = json!({ "before": null, "after": null });
    for drive in [2, 3] {
        assert_eq!(report(drive)["health"], nothing);
    }
    let whole = session.report_file("all", 0, "json");
    let whole: Value = serde_json::from_slice(&whole).expect("JSON");
    assert_eq!(whole["tool"]["machine"]["vendor"], "QEMU");
    let page = String::from_utf8(session.report_file("all", 0, "html")).expect("text");
    assert!(
        page.contains(">Life used<") && page.contains("<td>50\u{a0}°C</td>"),
        "{page}"
    );
}
