//! Drives that are slow or become slow, which the report must say, and drives that stop answering.

use serde_json::{Value, json};
use squall_guests::Bus;
use squall_guests::needs::USER_MODE;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{GuestSession, MIB, Running, Workspace, id};

pub const TESTS: &[Test] = tests![
    slow_and_hung_drives_do_not_delay_others: [USER_MODE],
    a_drive_that_becomes_slow_or_stalls_is_noted: [USER_MODE],
];

const SIZE: u64 = 8 * MIB;

const SECTORS: u64 = SIZE / 512;

fn slow_and_hung_drives_do_not_delay_others() {
    let workspace = Workspace::user_mode();
    let names = ["ONE", "TWO", "THREE", "FOUR"];
    let mut drives = names
        .map(|serial| workspace.drive(Bus::Ubd, serial, 512, 8))
        .to_vec();
    drives.push(workspace.drive(Bus::Ubd, "LARGE", 512, 24));
    let mut session = workspace.boot(&["dm-mod", "dm-delay"], drives);
    transfers_overlap(&mut session, &names);
    a_hung_drive_delays_no_other(&workspace, &mut session);
    a_second_signal(&workspace, &mut session);
}

/// While no write of any drive ends, every drive has as many in flight as the depth says.
fn transfers_overlap(session: &mut GuestSession, names: &[&str; 4]) {
    let linear = |name: &str| format!("0 {SECTORS} linear {name} 0");
    let devices = names.map(|name| (id(name), format!("below-{name}"), format!("slow-{name}")));
    // dm-delay counts a request only once it is no longer delayed; the device above it counts it at once.
    for (drive, below, slow) in &devices {
        session.map(below, &linear(drive));
        session.map(slow, &linear(&id(below)));
    }
    for depth in [1, 4] {
        for (drive, below, _) in &devices {
            let writes_hang = format!("0 {SECTORS} delay {drive} 0 0 {drive} 0 3600000");
            session.remap(below, &writes_hang);
        }
        let options = format!("--depth {depth}");
        let drives = devices.each_ref().map(|(_, _, slow)| slow.as_str());
        let running = session.start(&format!("depth-{depth}"), &options, &drives);
        for slow in drives {
            session.until_in_flight(slow, depth);
        }
        for (drive, below, _) in &devices {
            session.remap(below, &linear(drive));
        }
        session.end(running).success();
    }
    for (_, below, slow) in devices {
        session.ok(&format!("dmsetup remove {slow} {below}"));
    }
}

/// A drive that stops answering does not prevent others from finishing or stopping.
fn a_hung_drive_delays_no_other(workspace: &Workspace, session: &mut GuestSession) {
    let running = hung(session, "hung");
    session.ok("kill -s TERM $(pidof squall)");
    let others = [1, 2].map(|drive| session.until(&running, drive, has_ended));
    let outcomes = others.map(|event| event["outcome"].clone());
    assert_eq!(outcomes, ["verified", "interrupted"]);
    session.ok("sleep 1; pidof squall");
    assert!(
        !session
            .events(&running)
            .iter()
            .any(|event| event["drive"] == 0 && has_ended(event))
    );

    session.ok("dmsetup resume stuck");
    let ran = session.end(running).failure("squall wipe --resume");
    assert_eq!(ran.outcome(0), "interrupted");
    let ran = session.resume("hung", "").success();
    assert_eq!([ran.outcome(0), ran.outcome(2)], ["verified", "verified"]);
    assert!(workspace.medium("ONE") == session.keystream("hung", 0, SIZE as usize));
    let written = session.keystream("hung", 2, 3 * SIZE as usize);
    assert!(workspace.medium("LARGE") == written);
}

/// A second signal ends the process while its transfers hang.
fn a_second_signal(workspace: &Workspace, session: &mut GuestSession) {
    let running = hung(session, "killed");
    session.ok("kill -s TERM $(pidof squall)");
    session.until(&running, 2, has_ended);
    session.ok("kill -s TERM $(pidof squall)");
    session.wait_until_ok("! pidof squall");
    session.ok("dmsetup resume stuck");
    let ran = session.end(running);
    assert_eq!(ran.status, 1);
    assert!(ran.events("end").is_empty());
    session.resume("killed", "").success();
    assert!(workspace.medium("ONE") == session.keystream("killed", 0, SIZE as usize));
}

/// A run in which drive 0 hangs, drive 1 has finished, and drive 2 is in progress.
fn hung(session: &mut GuestSession, name: &str) -> Running {
    session.ok("dmsetup remove stuck; dmsetup remove little; true");
    session.map("stuck", &format!("0 {SECTORS} linear {} 0", id("ONE")));
    session.map("little", &format!("0 2048 linear {} 0", id("TWO")));
    let slowly = "--keep-key --rate-limit 256KiB --checkpoint 1";
    let running = session.start(name, slowly, &["stuck", "little", "LARGE"]);
    session.until_checkpoint(&running, 0);
    session.ok("dmsetup suspend --noflush --nolockfs stuck");
    session.until(&running, 1, has_ended);
    let beyond = session.until_checkpoint(&running, 2);
    let further =
        |event: &Value| event["event"] == "checkpoint" && event["offset"].as_u64() > Some(beyond);
    session.until(&running, 2, further);
    running
}

fn has_ended(event: &Value) -> bool {
    event["event"] == "ended"
}

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
