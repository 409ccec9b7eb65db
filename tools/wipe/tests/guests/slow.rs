//! Drives that are slow or become slow, which the report must say, and drives that stop answering: they delay no other,
//! and are given up by `--stall`, or because the user skips them. The run ends although the kernel still waits for the
//! drive, also if it only reads.

use serde_json::{Value, json};
use squall_guests::Bus;
use squall_guests::needs::{C_COMPILER, USER_MODE};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::guests::workspace::{GuestSession, MIB, Running, Workspace, id};

pub const TESTS: &[Test] = tests![
    slow_and_hung_drives_do_not_delay_others: [USER_MODE],
    a_drive_that_becomes_slow_or_stalls_is_noted: [USER_MODE],
    a_drive_that_does_not_answer_is_given_up: [USER_MODE, C_COMPILER],
];

const SIZE: u64 = 16 * MIB;

const SECTORS: u64 = SIZE / 512;

const SLOWLY: &str = "--keep-key --rate-limit 256KiB --checkpoint 1";

/// A table of a whole drive.
fn linear(drive: &str) -> String {
    format!("0 {SECTORS} linear {drive} 0")
}

fn slow_and_hung_drives_do_not_delay_others() {
    let workspace = Workspace::user_mode();
    let names = ["ONE", "TWO", "THREE", "FOUR"];
    let mut drives = names
        .map(|serial| workspace.drive(Bus::Ubd, serial, 512, 16))
        .to_vec();
    drives.push(workspace.drive(Bus::Ubd, "LARGE", 512, 48));
    let mut session = workspace.boot(&["dm-mod", "dm-delay"], drives);
    transfers_overlap(&mut session, &names);
    a_hung_drive_delays_no_other(&workspace, &mut session);
    a_second_signal(&workspace, &mut session);
}

/// While no write of any drive ends, every drive has as many in flight as the depth says.
fn transfers_overlap(session: &mut GuestSession, names: &[&str; 4]) {
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
        session.end(running).succeeded();
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
    let ran = session.end(running).failed("squall wipe --resume");
    assert_eq!(ran.outcome(0), "interrupted");
    let ran = session.resume("hung", "").succeeded();
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
    assert_eq!(ran.code, Some(1));
    assert!(ran.events("end").is_empty());
    session.resume("killed", "").succeeded();
    assert!(workspace.medium("ONE") == session.keystream("killed", 0, SIZE as usize));
}

/// A run in which drive 0 hangs, drive 1 has finished, and drive 2 is in progress.
fn hung(session: &mut GuestSession, name: &str) -> Running {
    session.ok("dmsetup remove stuck; dmsetup remove little; true");
    map_stuck_and_little(session);
    let running = session.start(name, SLOWLY, &["stuck", "little", "LARGE"]);
    session.until_checkpoint(&running, 0);
    session.ok("dmsetup suspend --noflush --nolockfs stuck");
    session.until(&running, 1, has_ended);
    let beyond = session.until_checkpoint(&running, 2);
    let further =
        |event: &Value| event["event"] == "checkpoint" && event["offset"].as_u64() > Some(beyond);
    session.until(&running, 2, further);
    running
}

fn map_stuck_and_little(session: &mut GuestSession) {
    session.map("stuck", &linear(&id("ONE")));
    session.map("little", &format!("0 2048 linear {} 0", id("TWO")));
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
    let ran = session.end(running).succeeded();
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

fn a_drive_that_does_not_answer_is_given_up() {
    let workspace = Workspace::user_mode();
    let drives = ["ONE", "TWO"].map(|serial| workspace.drive(Bus::Ubd, serial, 512, 16));
    let mut session = workspace.boot(&["dm-mod", "dm-delay"], drives.to_vec());
    map_stuck_and_little(&mut session);
    transfers_hang(&workspace, &mut session);
    a_flush_hangs(&workspace, &mut session);
    skipped_by_keys(&workspace, &mut session);
    reading_hangs(&mut session);
}

/// A run whose drive 1 has ended, and drive 0 has reached a checkpoint.
fn under_way(session: &mut GuestSession, name: &str, options: &str) -> Running {
    let running = session.start(name, &format!("{SLOWLY} {options}"), &["stuck", "little"]);
    session.until(&running, 1, has_ended);
    session.until_checkpoint(&running, 0);
    running
}

/// Waits for the end of a run that gives drive 0 up, while it does not answer.
fn is_given_up(session: &mut GuestSession, running: Running, name: &str) {
    let ran = session.end(running).failed("squall wipe --resume");
    assert_eq!([ran.outcome(0), ran.outcome(1)], ["failed", "verified"]);
    let report = session.report(name, 0);
    let reason = report["outcome"]["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("it stalled: nothing moved for 15s, at "),
        "{reason}"
    );
    let offset = report["passes"][0]["offset"].as_u64().expect("an offset");
    assert!((1..SIZE).contains(&offset), "{offset}");
}

/// Once the drive answers again, the job can be resumed.
fn can_be_resumed(workspace: &Workspace, session: &mut GuestSession, name: &str) {
    session.wait_until_ok("! pidof squall");
    let ran = session.resume(name, "").succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert!(workspace.medium("ONE") == session.keystream(name, 0, SIZE as usize));
}

fn transfers_hang(workspace: &Workspace, session: &mut GuestSession) {
    let running = under_way(session, "hung", "--stall 15s");
    session.ok("dmsetup suspend --noflush --nolockfs stuck");
    is_given_up(session, running, "hung");
    session.ok("dmsetup resume stuck");
    can_be_resumed(workspace, session, "hung");
}

/// A thread that waits for a flush cannot be killed, and so keeps its process from ending.
fn a_flush_hangs(workspace: &Workspace, session: &mut GuestSession) {
    let drive = id("ONE");
    let flushes_hang = format!("0 {SECTORS} delay {drive} 0 0 {drive} 0 0 {drive} 0 3600000");
    let running = under_way(session, "flush", "--stall 15s");
    session.remap("stuck", &flushes_hang);
    is_given_up(session, running, "flush");
    // The control: its process is still there.
    session.ok("pidof squall");
    session.remap("stuck", &linear(&id("ONE")));
    can_be_resumed(workspace, session, "flush");
}

/// The first time, a drive that is skipped is asked to stop; the second time, it is given up.
fn skipped_by_keys(workspace: &Workspace, session: &mut GuestSession) {
    let drives = ["stuck", "little"].map(id).join(" ");
    let arguments = format!("wipe --report /tmp/skipped {SLOWLY} {drives}");
    let running = session.on_terminal("skipped", &arguments);
    session.type_after("skipped", "to overwrite them: ", "wipe 2\\n");
    session.wait_until_ok("grep -q 'little little: verified' /tmp/skipped.screen");
    session.ok("dmsetup suspend --noflush --nolockfs stuck");
    session.type_after("skipped", "s skips a drive", "s7\\r");
    session.type_after("skipped", "no drive under way has the number 7", "s1\\r");
    session.type_after("skipped", "skipped by a key", "s1\\r");
    let (status, shown) = session.end_on_terminal(running);
    assert_eq!(status, 1, "{shown}");
    assert!(
        shown.contains("it was skipped, and did not answer, at "),
        "{shown}"
    );
    session.ok("dmsetup resume stuck");
    can_be_resumed(workspace, session, "skipped");
}

/// Verifies and reads a drive that stops answering. The control, without `--stall`, waits for it.
fn reading_hangs(session: &mut GuestSession) {
    let drives = ["stuck", "little"];
    session.wipe("read", "--pass zero", &drives).succeeded();
    let job = session.ok("ls /tmp/read/*-job.json");
    let blank = drives.map(id).join(" ");
    for (name, what) in [("verify", job.trim()), ("blank", &blank)] {
        let report = match name {
            "verify" => "--report /tmp/verify",
            _ => "",
        };
        let command = format!("{name} {report} --rate-limit 256KiB {what}");
        let running = hanging(session, name, &format!("{command} --stall 15s"));
        let ran = session.end(running);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let is_end = |event: &&Value| name == "blank" || event["event"] == "ended";
        let ends: Vec<_> = ran.events.iter().filter(is_end).collect();
        let reason = ends[1]["reason"].as_str().expect("a reason");
        let stalled = "it stalled: nothing moved for 15s, at ";
        assert!(reason.starts_with(stalled), "{reason}");
        let told = match name {
            "verify" => {
                let outcomes = [&ends[0]["outcome"], &ends[1]["outcome"]];
                assert_eq!(outcomes, ["verified", "failed"]);
                assert_eq!(session.report(name, 0)["outcome"]["reason"], reason);
                "squall: 1 of 2 drives were not compared completely\n"
            }
            _ => {
                let verdicts = [&ends[0]["verdict"], &ends[1]["verdict"]];
                assert_eq!(verdicts, ["zeros", "unread"]);
                "squall: 1 of 2 drives could not be read\n"
            }
        };
        assert!(ran.stderr.ends_with(told), "{}", ran.stderr);
        session.ok("dmsetup resume stuck");
        session.wait_until_ok("! pidof squall");

        let running = hanging(session, &format!("{name}-waiting"), &command);
        session.ok("sleep 30; pidof squall; dmsetup resume stuck");
        assert_eq!(session.end(running).code, Some(0));
    }
}

/// Starts a command that reads both drives. Once the little one has ended, the other one does not answer.
fn hanging(session: &mut GuestSession, name: &str, command: &str) -> Running {
    let running = session.squall(name, command);
    session.wait_until_ok(&format!(
        "grep -q -e '\"ended\"' -e '\"verdict\"' /tmp/{name}.events"
    ));
    session.ok("dmsetup suspend --noflush --nolockfs stuck");
    running
}
