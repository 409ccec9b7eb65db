//! Drives that become slow or stall in the middle of a wipe, which the report must say.

use serde_json::{Value, json};

use crate::guests::workspace::{MIB, Workspace};
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_drive_that_becomes_slow_or_stalls_is_noted: [USER_MODE],
];

/// squall must have seen a minute of normal speed and half a minute of slowness.
fn a_drive_that_becomes_slow_or_stalls_is_noted() {
    let workspace = Workspace::user_mode();
    let mut session = workspace.boot(&["dm-mod", "dm-delay", "dm-zero"], Vec::new());
    let sectors = 256 * MIB / 512;
    let zero = format!("0 {sectors} zero");
    for name in ["void", "slows", "stalls"] {
        session.map(name, &zero);
    }
    // The control runs until the other two have been noticed.
    session.map("steady", &format!("0 {} zero", 3 * sectors));
    let options = "--pass zero --verify none --depth 1 --rate-limit 8MiB";
    let running = session.start("slow", options, &["slows", "stalls", "steady"]);
    let far = |event: &Value| event["done"].as_u64() > Some(180 * MIB);
    session.until(&running, 0, far);
    session.ok("dmsetup suspend --noflush --nolockfs stalls");
    session.remap(
        "slows",
        &format!("0 {sectors} delay /dev/mapper/void 0 8000"),
    );
    session.until(&running, 1, |event| event["stalled"] == true);
    let note = session.until(&running, 0, |event| event["event"] == "note");
    let text = note["text"].as_str().expect("a text");
    assert!(
        text.contains("slow since") && text.contains(" of pass 1/1"),
        "{text}"
    );

    session.remap("slows", &zero);
    session.ok("dmsetup resume stalls");
    let ran = session.end(running).success();
    for drive in 0..3 {
        assert_eq!(ran.outcome(drive), "overwritten");
    }
    let notes = &session.report("slow", 0)["notes"];
    assert_eq!(notes[0]["text"], text);
    assert_eq!(session.report("slow", 2)["notes"], json!([]));
    let progress = ran.events("progress");
    let mut of_steady = progress.iter().filter(|event| event["drive"] == 2);
    assert!(of_steady.all(|event| event["stalled"] == false));
}
