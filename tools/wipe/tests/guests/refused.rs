//! Drives that refuse sectors or change data, with a kernel that reports errors.

use serde_json::{Value, json};
use squall_guests::Bus;

use crate::guests::workspace::{GuestSession, MIB, OLD, Workspace};
use squall_guests::needs::GUESTS;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    refused_and_changed_sectors_are_recorded_exactly: [GUESTS],
];

const SIZE: u64 = 8 * MIB;

/// Size of each drive in device mapper's sectors.
const SECTORS: u64 = SIZE / 512;

fn refused_and_changed_sectors_are_recorded_exactly() {
    let workspace = Workspace::emulated();
    let drives = vec![
        workspace.drive(Bus::VirtioBlk, "SMALL", 512, 8),
        workspace.drive(Bus::VirtioBlk, "LARGE", 4096, 8),
        workspace.drive(Bus::VirtioScsi, "FLAKEY", 512, 8),
        workspace.drive(Bus::VirtioScsi, "WEAK", 4096, 8),
    ];
    let modules = ["dm-mod", "dm-flakey"];
    let mut session = workspace.boot(&modules, drives);
    bad_sectors(&workspace, &mut session, "SMALL", 512, 8191);
    bad_sectors(&workspace, &mut session, "LARGE", 4096, 1001);
    a_time_of_refusals(&workspace, &mut session);
    a_refused_flush(&workspace, &mut session);
    dropped(&workspace, &mut session);
    changed_when_read(&workspace, &mut session);
}

/// A table with one target over a whole drive.
fn over(target: &str, drive: &str, arguments: &str) -> String {
    format!("0 {SECTORS} {target} /dev/disk/by-id/{drive} 0 {arguments}")
}

/// Three sectors from number `bad` on can be neither written nor read.
fn bad_sectors(
    workspace: &Workspace,
    session: &mut GuestSession,
    drive: &str,
    sector: u64,
    bad: u64,
) {
    let (from, end) = (bad * sector, (bad + 3) * sector);
    let (first, last) = (from / 512, end / 512);
    let device = format!("/dev/disk/by-id/{drive}");
    let table = format!(
        "0 {first} linear {device} 0\\n{first} {} error\\n{last} {} linear {device} {last}",
        last - first,
        SECTORS - last
    );
    let name = format!("bad{sector}");
    session.map(&name, &table);
    let ran = session
        .wipe(&name, "--keep-key", &[&name])
        .failed("1 of 1 drives");
    assert_eq!(ran.outcome(0), "incomplete");
    let hole = json!([{ "offset": from, "length": 3 * sector }]);
    let report = session.report(&name, 0);
    assert_eq!(report["target"]["sector"], sector);
    assert_eq!(report["passes"][0]["unwritten"], hole);
    assert_eq!(report["verification"]["unreadable"], hole);
    assert_eq!(report["verification"]["differing_bytes"], 0);
    let compared = SIZE - 3 * sector;
    assert_eq!(report["verification"]["compared"], compared);
    let end_of_run = ran.events("end")[0];
    assert_eq!(end_of_run["drives"][0]["not_overwritten_bytes"], 3 * sector);
    let tenths = compared * 1000 / SIZE;
    let share = format!("<dd>{}.{} %</dd>", tenths / 10, tenths % 10);
    assert!(session.page(&name, 0).contains(&share), "{share}");

    let mut expected = session.keystream(&name, 0, SIZE as usize);
    expected[from as usize..end as usize].fill(OLD);
    assert!(workspace.medium(drive) == expected, "{name}");

    // The control: the same without bad sectors.
    session.remap(&name, &over("linear", drive, ""));
    let control = format!("good{sector}");
    let ran = session.wipe(&control, "--keep-key", &[&name]).succeeded();
    assert_eq!(ran.outcome(0), "verified");
    assert!(workspace.medium(drive) == session.keystream(&control, 0, SIZE as usize));
}

/// For a time, nothing can be written in the middle. Refused blocks are written again by sectors, which takes long if
/// these are small.
fn a_time_of_refusals(workspace: &Workspace, session: &mut GuestSession) {
    let good = over("linear", "WEAK", "");
    session.map("weak", &good);
    let running = session.start("weak", "--keep-key --rate-limit 512KiB", &["weak"]);
    session.until(&running, 0, |event| event["done"].as_u64() > Some(0));
    session.remap("weak", &over("flakey", "WEAK", "0 3600 1 error_writes"));
    session.until(&running, 0, |event| event["event"] == "unwritten");
    session.remap("weak", &good);
    let ran = session.end(running).failed("1 of 1 drives");
    assert_eq!(ran.outcome(0), "incomplete");

    let report = session.report("weak", 0);
    let unwritten = &report["passes"][0]["unwritten"];
    let mut expected = session.keystream("weak", 0, SIZE as usize);
    let refused = fill(&mut expected, unwritten);
    assert!(refused > 0 && refused < SIZE, "{refused}");
    assert!(workspace.medium("WEAK") == expected);
    let written = session.keystream("weak", 0, SIZE as usize);
    assert_differences(&report["verification"], &expected, &written);
    let told = ran.events("unwritten").into_iter().map(length);
    assert_eq!(told.sum::<u64>(), refused);
}

/// Fills `extents` of `bytes` with [`OLD`], and returns their total length.
fn fill(bytes: &mut [u8], extents: &Value) -> u64 {
    let mut sum = 0;
    for extent in extents.as_array().expect("a list") {
        let from = extent["offset"].as_u64().expect("a number") as usize;
        let length = length(extent);
        bytes[from..from + length as usize].fill(OLD);
        sum += length;
    }
    sum
}

fn length(extent: &Value) -> u64 {
    extent["length"].as_u64().expect("a number")
}

/// A drive whose flush fails has failed. Once it can flush, the job resumes.
fn a_refused_flush(workspace: &Workspace, session: &mut GuestSession) {
    let slowly = "--keep-key --rate-limit 128KiB --checkpoint 1";
    let running = session.start("tired", slowly, &["weak"]);
    let offset = session.until_checkpoint(&running, 0);
    session.remap("weak", &over("flakey", "WEAK", "0 3600 1 error_writes"));
    let ran = session.end(running).failed("squall wipe --resume");
    assert_eq!(ran.outcome(0), "failed");
    assert_eq!(
        ran.events("ended")[0]["reason"],
        "flush: Input/output error"
    );

    session.remap("weak", &over("linear", "WEAK", ""));
    let ran = session.resume("tired", "").succeeded();
    assert!(ran.events("pass")[0]["offset"].as_u64() >= Some(offset));
    assert!(workspace.medium("WEAK") == session.keystream("tired", 0, SIZE as usize));
}

/// The drive drops some writes and reports success.
fn dropped(workspace: &Workspace, session: &mut GuestSession) {
    let device = "/dev/disk/by-id/FLAKEY";
    let table = format!(
        "0 5000 linear {device} 0\\n5000 7 flakey {device} 5000 0 3600 1 drop_writes\\n\
         5007 {} linear {device} 5007",
        SECTORS - 5007
    );
    session.map("forgetful", &table);
    let ran = session
        .wipe("forgetful", "--keep-key", &["forgetful"])
        .failed("1 of 1 drives");
    assert_eq!(ran.outcome(0), "differs");
    let report = session.report("forgetful", 0);
    assert_eq!(report["passes"][0]["unwritten"], json!([]));
    let written = session.keystream("forgetful", 0, SIZE as usize);
    let medium = workspace.medium("FLAKEY");
    assert!(medium[5000 * 512..5007 * 512] != written[5000 * 512..5007 * 512]);
    assert_differences(&report["verification"], &medium, &written);
    // The next device stands on the same sectors.
    session.ok("dmsetup remove forgetful");
}

/// The drive changes a byte of each transfer when it is read.
fn changed_when_read(workspace: &Workspace, session: &mut GuestSession) {
    let corrupt = over("flakey", "FLAKEY", "0 3600 5 corrupt_bio_byte 1000 r 85 0");
    session.map("liar", &corrupt);
    let ran = session
        .wipe("liar", "--keep-key", &["liar"])
        .failed("1 of 1 drives");
    assert_eq!(ran.outcome(0), "differs");
    let verification = &session.report("liar", 0)["verification"];
    for extent in verification["differing"].as_array().expect("a list") {
        assert_eq!(length(extent), 1);
    }
    assert!(workspace.medium("FLAKEY") == session.keystream("liar", 0, SIZE as usize));
}

/// Checks that `verification` names exactly the places where `found` is not what was `written`.
#[track_caller]
fn assert_differences(verification: &Value, found: &[u8], written: &[u8]) {
    let differs = |at: &usize| found[*at] != written[*at];
    let mut left: Vec<_> = (0..SIZE as usize).filter(differs).collect();
    assert_eq!(verification["differing_bytes"], left.len());
    assert_eq!(verification["unreadable"], json!([]));
    for extent in verification["differing"].as_array().expect("a list") {
        let from = extent["offset"].as_u64().expect("a number") as usize;
        let end = from + length(extent) as usize;
        assert!(differs(&from) && differs(&(end - 1)), "{extent}");
        left.retain(|at| !(from..end).contains(at));
    }
    assert!(left.is_empty(), "{left:?}");
}
