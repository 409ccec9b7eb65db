//! Tests NVMe drives that erase themselves before `squall wipe` overwrites them, with a kernel that
//! implements their commands.
//!
//! The wipe is slow, and is killed after the erase. The part that it did not overwrite shows what the
//! erase did. The control is the same without `--purge`.

use serde_json::{Value, json};
use squall_guests::Bus;

use crate::guests::workspace::{GuestSession, MIB, OLD, Workspace, id};
use squall_guests::needs::GUESTS;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_namespace_erases_only_itself: [GUESTS],
];

const SIZE: u64 = 32;

/// A killed run has overwritten nothing beyond this offset.
const REACHED: usize = 16 * MIB as usize;

/// Options that make a wipe slow enough to be killed.
const SLOWLY: &str = "--rate-limit 128KiB --checkpoint 1";

fn a_namespace_erases_only_itself() {
    let workspace = Workspace::emulated();
    let drives = vec![
        workspace.drive(Bus::Nvme, "ERASED", 512, SIZE),
        workspace.drive(Bus::Nvme, "LARGE", 4096, SIZE),
        workspace.drive(Bus::Nvme, "CONTROL", 512, SIZE),
        workspace.drive(Bus::VirtioBlk, "NONE", 512, SIZE),
    ];
    let mut session = workspace.boot(&[], drives);
    foreseen(&mut session);
    refused(&workspace, &mut session);
    for serial in ["ERASED", "LARGE"] {
        erases_itself(&workspace, &mut session, serial);
    }
    keeps_what_is_not_overwritten(&workspace, &mut session);
}

/// The plan says which drives can erase themselves, and making it changes nothing.
fn foreseen(session: &mut GuestSession) {
    let drives = ["ERASED", "NONE"].map(id).join(" ");
    let plan = session.ok(&format!("squall wipe --dry-run --json {drives}"));
    let plan: Value = serde_json::from_str(&plan).expect("a plan");
    assert_eq!(plan["means"], json!(["nvme-format", null]));
    let plan = session.ok(&format!("squall wipe --dry-run {drives}"));
    let line = "erase     supported: Format NVM with User Data Erase (--purge)";
    assert_eq!(plan.matches("erase  ").count(), 1, "{plan}");
    assert!(plan.contains(line), "{plan}");
}

/// If one drive cannot erase itself, all drives stay as they were.
fn refused(workspace: &Workspace, session: &mut GuestSession) {
    let ran = session.wipe("refused", "--purge", &["ERASED", "NONE"]);
    ran.refused("it cannot erase itself");
    for serial in ["ERASED", "NONE"] {
        assert!(workspace.is_old(serial), "{serial}");
    }
}

fn erases_itself(workspace: &Workspace, session: &mut GuestSession, serial: &str) {
    let options = format!("--purge --keep-key {SLOWLY}");
    let running = session.start(serial, &options, &[serial]);
    let purged = session.until(&running, 0, |event| event["event"] == "purged");
    assert_eq!(purged["means"], "nvme-format");
    assert_eq!(purged["failure"], Value::Null);
    session.until(&running, 0, |event| event["event"] == "pass");
    session.kill(running);
    let left = &workspace.medium(serial)[REACHED..];
    assert!(left.iter().all(|byte| *byte == 0), "{serial}");

    // The erase is not repeated; the drive is then overwritten and verified as usual.
    let ran = session.resume(serial, "").success();
    assert_eq!(ran.outcome(0), "verified");
    assert!(ran.events("purge").is_empty() && ran.events("purged").is_empty());
    let report = session.report(serial, 0);
    assert_eq!(report["purge"]["failure"], Value::Null);
    assert!(report["purge"]["ended"].is_string(), "{report}");
    let page = session.page(serial, 0);
    assert!(page.contains("the drive erased itself by Format NVM"));
    let size = (SIZE * MIB) as usize;
    assert!(workspace.medium(serial) == session.keystream(serial, 0, size));
}

/// The control: without `--purge`, the part that was not overwritten keeps its contents.
fn keeps_what_is_not_overwritten(workspace: &Workspace, session: &mut GuestSession) {
    let running = session.start("control", SLOWLY, &["CONTROL"]);
    session.until_checkpoint(&running, 0);
    session.kill(running);
    let left = &workspace.medium("CONTROL")[REACHED..];
    assert!(left.iter().all(|byte| *byte == OLD));
}
