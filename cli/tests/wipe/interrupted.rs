//! Interrupted runs continue: nothing is left out, and nothing is done twice.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use squall_testing::compiler::compile;
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{
    OLD, Running, Workspace, assert_keystream, contents, flip, key, read, run_to_end, serial,
    squall_on,
};
use crate::common::wait_for_end;

const MIB: usize = 1 << 20;
const SIZE: usize = 24 * MIB;

/// Options that make a pass take 24 seconds, so that it can be interrupted on any machine.
const SLOW: &str = "--rate-limit 1MiB --checkpoint 1";

/// Waits for a checkpoint beyond the beginning; returns the offset that is flushed and recorded.
fn wait_for_checkpoint(running: &mut Running) -> u64 {
    loop {
        let offset = running.until("checkpoint")["offset"].as_u64().unwrap();
        if offset > 0 {
            return offset;
        }
    }
}

fn a_killed_run_resumes_at_its_checkpoint() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    let mut running = Running::start(workspace.wipe(&format!("{SLOW} --rounds 2"), &[&target]));
    let offset = wait_for_checkpoint(&mut running);
    running.kill();
    let keys = fs::read_to_string(&workspace.files("key")[0]).unwrap();
    let first = key(&workspace.files("key")[0], 0);
    assert_keystream(&target, offset as usize, &first);
    let last = &contents(&target, SIZE)[SIZE - MIB..];
    assert!(last.iter().all(|byte| *byte == OLD));

    // Killed again in the second pass, which has a different key.
    let mut running = Running::start(workspace.resume("--rate-limit 4MiB --checkpoint 1"));
    let began = running.until("pass");
    assert_eq!(began["number"], 1);
    assert!(began["offset"].as_u64().unwrap() >= offset);
    assert_eq!(running.until("pass")["number"], 2);
    running.kill();

    let same = fs::read_to_string(&workspace.files("key")[0]).unwrap();
    assert_eq!(keys, same);
    let second = key(&workspace.files("key")[0], 1);
    let done = run_to_end(workspace.resume("")).succeeded();
    assert_eq!(done.events("pass")[0]["number"], 2);
    assert_keystream(&target, SIZE, &second);
    assert!(!workspace.has_journal());
    assert!(workspace.files("key").is_empty());
    let report = read(&workspace.reports()[0]);
    assert_eq!(report["drives"][0]["outcome"]["outcome"], "verified");
    assert_eq!(report["drives"][0]["passes"].as_array().unwrap().len(), 2);
}

/// Neither a pass nor a verification that is over is repeated, and one that is under way goes on. The first pass is
/// made to be over, so that its verification can take as long as a pass.
fn a_killed_verification_of_a_pass_resumes_at_its_checkpoint() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    let options = "--pass zero,random,0x55 --verify-each";
    start_and_kill(&workspace, options, &[&target]);
    overwrite(&target, &vec![0; SIZE]);
    change_journal(&workspace, |job| end_first_pass(&mut job["drives"][0]));
    let mut running = Running::start(workspace.resume(SLOW));
    assert_eq!(running.until("verification")["number"], 1);
    let offset = wait_for_checkpoint(&mut running);
    running.kill();
    assert!(contents(&target, SIZE).iter().all(|byte| *byte == 0));

    let done = run_to_end(workspace.resume("")).succeeded();
    let numbers = |name| -> Vec<_> {
        let events = done.events(name);
        events.iter().map(|event| event["number"].clone()).collect()
    };
    assert_eq!(numbers("pass"), [2, 3]);
    assert_eq!(numbers("verification"), [1, 2, 3]);
    let resumed = done.events("verification")[0]["offset"].as_u64().unwrap();
    assert!(resumed >= offset, "{resumed}");
    assert!(contents(&target, SIZE).iter().all(|byte| *byte == 0x55));
    let report = read(&workspace.reports()[0]);
    let drive = &report["drives"][0];
    assert_eq!(drive["outcome"]["outcome"], "verified");
    for found in [
        &drive["passes"][0]["verification"],
        &drive["passes"][1]["verification"],
        &drive["verification"],
    ] {
        assert_eq!(found["compared"], SIZE, "{found}");
    }
}

/// The page cache holds what the pass has written, as long as somebody has the device open, and the medium something else.
fn a_resumed_wipe_is_compared_with_the_medium() {
    let workspace = Workspace::new();
    let medium = workspace.target("medium", SIZE);
    let device = Loop::attach(&["--direct-io=on"], &medium);
    let options = format!("--direct off --serial {}", serial(&device.path));
    start_and_kill(
        &workspace,
        &format!("--pass zero {options}"),
        &[&device.path],
    );
    overwrite(&device.path, &vec![0; SIZE]);
    change_journal(&workspace, |job| end_first_pass(&mut job["drives"][0]));
    let open = fs::File::open(&device.path).unwrap();
    open.sync_all().unwrap();
    assert!(contents(&device.path, SIZE).iter().all(|byte| *byte == 0));
    flip(&medium, 2_500_000);
    assert_eq!(contents(&device.path, SIZE)[2_500_000], 0, "the control");
    let found = run_to_end(workspace.resume(&options)).failed("not wiped as asked");
    assert_eq!(found.events("differing")[0]["offset"], 2_500_000);
}

/// Places of a sample are drawn anew, so what was compared at others does not count.
fn a_sample_begins_anew() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    start_and_kill(&workspace, "--pass zero --verify sample", &[&target]);
    overwrite(&target, &vec![0; SIZE]);
    change_journal(&workspace, |job| {
        let drive = &mut job["drives"][0];
        end_first_pass(drive);
        drive["verification"] = json!({
            "scope": "sample", "began": drive["passes"][0]["began"], "ended": null, "seconds": 1.0,
            "offset": SIZE / 2, "compared": SIZE, "differing_bytes": 0, "differing": [],
            "differing_unlisted": 0, "unreadable": []
        });
    });
    let done = run_to_end(workspace.resume("")).succeeded();
    assert_eq!(done.events("verification")[0]["offset"], 0);
    let report = read(&workspace.reports()[0]);
    let compared = report["drives"][0]["verification"]["compared"].as_u64();
    assert!(compared.unwrap() < SIZE as u64);
}

fn a_first_signal_stops_at_a_checkpoint_and_says_how_to_resume() {
    let interrupts = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
    for number in interrupts.into_iter().chain([Signal::XCPU]) {
        let workspace = Workspace::new();
        let targets = ["one", "two"].map(|name| workspace.target(name, SIZE));
        let paths = [targets[0].as_path(), &targets[1]];
        let mut running = Running::start(workspace.wipe(SLOW, &paths));
        running.until("progress");
        running.signal(number);
        let (code, message) = wait_for_end(running.child);
        assert_eq!(code, Some(1));
        let journal = workspace.journal();
        let advice = format!("squall wipe --resume {}", journal.display());
        assert!(message.contains(&advice), "{message}");
        let offset = read(&journal)["drives"][1]["passes"][0]["offset"].as_u64();
        assert!(offset.unwrap() < SIZE as u64);
        let report = &workspace.reports()[1];
        for record in [&journal, report] {
            let drive = read(record)["drives"]
                .as_array()
                .expect("drives")
                .last()
                .cloned();
            assert_eq!(drive.expect("a drive")["outcome"]["outcome"], "interrupted");
        }
        // A report is no journal, and this one is not that of a whole wipe.
        let advice = format!("resume the job by its journal, {}", journal.display());
        squall_on("wipe --yes --json --resume", &[report]).refused(&advice);
        run_to_end(workspace.verify("")).refused("are not finished");
        run_to_end(workspace.resume("")).succeeded();
        assert_eq!(workspace.reports().len(), 2);
    }
}

/// Starts a job on `targets` and kills it at a checkpoint of the last one.
fn start_and_kill(workspace: &Workspace, options: &str, targets: &[&Path]) {
    let options = format!("{SLOW} {options}");
    let mut running = Running::start(workspace.wipe(&options, targets));
    for number in 1..targets.len() {
        assert_eq!(running.until("ended")["drive"], number - 1);
    }
    wait_for_checkpoint(&mut running);
    running.kill();
}

/// Neither another target nor the same one without its key is resumed.
fn another_target_is_not_resumed() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    start_and_kill(&workspace, "", &[&target]);
    // The same inode with other contents: a file system may reuse an inode for another file.
    let written = contents(&target, 4096);
    overwrite(&target, &[1; 4096]);
    run_to_end(workspace.resume(""))
        .refused("its contents are not those written before the interruption");
    overwrite(&target, &written);
    let (key, aside) = (workspace.files("key").remove(0), workspace.path("aside"));
    fs::rename(&key, &aside).unwrap();
    let keyless = run_to_end(workspace.resume("")).refused(".key: No such file");
    assert!(keyless.events.is_empty());
    fs::rename(&aside, &key).unwrap();
    run_to_end(workspace.resume("--dry-run")).succeeded();
    let file = fs::File::options().append(true).open(&target).unwrap();
    file.set_len(SIZE as u64 + 1).unwrap();
    run_to_end(workspace.resume("--dry-run")).refused("not the target that was wiped");
    // Another file of the same name and length.
    fs::rename(workspace.target("another", SIZE), &target).unwrap();
    run_to_end(workspace.resume("")).refused("not the target that was wiped");
    assert!(contents(&target, SIZE).iter().all(|byte| *byte == OLD));
}

fn a_missing_target_can_be_resumed_later() {
    let workspace = Workspace::new();
    let targets = ["one", "two"].map(|name| workspace.target(name, SIZE));
    let paths = [targets[0].as_path(), &targets[1]];
    let command = workspace.wipe(SLOW, &paths);
    let mut running = Running::start(command);
    running.until("progress");
    wait_for_checkpoint(&mut running);
    running.kill();
    let aside = workspace.path("aside");
    fs::rename(&targets[0], &aside).unwrap();
    let done = run_to_end(workspace.resume("")).failed("1 of 2 drives");
    assert_eq!(done.events("ended")[0]["drive"], 1);
    assert_eq!(done.events("ended")[0]["outcome"], "verified");
    run_to_end(workspace.resume("")).refused("No such file");
    fs::rename(&aside, &targets[0]).unwrap();
    // A drive that is done is not touched again.
    let before = contents(&targets[1], SIZE);
    let done = run_to_end(workspace.resume("")).succeeded();
    assert!(done.events("pass").iter().all(|event| event["drive"] == 0));
    assert!(before == contents(&targets[1], SIZE));
    assert_eq!(workspace.reports().len(), 2);
    assert!(workspace.files("key").is_empty() && !workspace.has_journal());
}

fn a_job_killed_at_its_very_end_is_ended_by_resuming_it() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    start_and_kill(&workspace, "", &[&target]);
    change_journal(&workspace, |job| {
        let drive = &mut job["drives"][0];
        end_first_pass(drive);
        drive["outcome"] = json!({ "outcome": "overwritten" });
    });
    run_to_end(workspace.resume("")).succeeded();
    assert_eq!(workspace.reports().len(), 1);
    assert!(workspace.files("key").is_empty() && !workspace.has_journal());
}

fn journals_that_were_changed_are_refused() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    start_and_kill(&workspace, "--verify none", &[&target]);
    let journal = fs::read(workspace.journal()).unwrap();
    let changes: [(&str, Change); 6] = [
        ("name of a job", |job| job["id"] = "/tmp/evil".into()),
        ("beyond the target", |job| {
            job["drives"][0]["passes"][0]["offset"] = (1_u64 << 41).into()
        }),
        ("beyond the target", |job| {
            job["drives"][0]["passes"][0]["seconds"] = (-5).into()
        }),
        ("no passes", |job| job["plan"]["passes"] = json!([])),
        ("beyond the target", |job| {
            job["drives"][0]["passes"][0]["content"] = "0x55".into()
        }),
        ("another version", |job| {
            job["format"] = "squall-wipe-journal/9".into()
        }),
    ];
    for (words, change) in changes {
        change_journal(&workspace, change);
        run_to_end(workspace.resume("")).refused(words);
        fs::write(workspace.journal(), &journal).unwrap();
    }
    fs::set_permissions(workspace.journal(), Permissions::from_mode(0o620)).unwrap();
    run_to_end(workspace.resume("")).refused("another user may have written it");
    fs::set_permissions(workspace.journal(), Permissions::from_mode(0o600)).unwrap();
    run_to_end(workspace.resume("")).succeeded();
}

/// Moves the file OURS to the place of the file FLIPPED, right after that was opened.
const FLIPS: &str = r#"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int file = syscall(SYS_openat, AT_FDCWD, path, flags, va_arg(more, int));
    va_end(more);
    if (strcmp(path, getenv("FLIPPED")) == 0)
        rename(getenv("OURS"), path);
    return file;
}
"#;

/// Whose journal it is, is asked of the file that is read. Its name may mean another one by then.
fn a_journal_that_changes_places_is_judged_as_it_was_read() {
    let workspace = Workspace::new();
    let target = workspace.target("target", SIZE);
    start_and_kill(&workspace, "--verify none", &[&target]);
    let (source, library) = (workspace.path("flips.c"), workspace.path("flips.so"));
    fs::write(&source, FLIPS).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library);
    compile(compiler.arg(&source));
    let (journal, ours) = (workspace.journal(), workspace.path("ours"));
    fs::copy(&journal, &ours).unwrap();
    fs::set_permissions(&journal, Permissions::from_mode(0o622)).unwrap();
    let mut resume = workspace.resume("");
    resume.env("LD_PRELOAD", &library);
    resume.env("FLIPPED", &journal).env("OURS", &ours);
    run_to_end(resume).refused("another user may have written it");
    assert!(!ours.exists());
    run_to_end(workspace.resume("")).succeeded();
}

type Change = fn(&mut Value);

fn change_journal(workspace: &Workspace, change: impl FnOnce(&mut Value)) {
    let mut job = read(&workspace.journal());
    change(&mut job);
    fs::write(workspace.journal(), job.to_string()).unwrap();
}

fn end_first_pass(drive: &mut Value) {
    let pass = &mut drive["passes"][0];
    pass["offset"] = SIZE.into();
    pass["ended"] = pass["began"].clone();
}

/// No number that lasts tells a loop device from another of its size.
fn a_loop_device_is_confirmed_again() {
    let lab = Lab::new();
    let workspace = Workspace::new();
    let image = lab.image("image", SIZE as u64);
    let device = Loop::attach(&[], &image);
    let first = format!("--serial {}", serial(&device.path));
    start_and_kill(&workspace, &first, &[&device.path]);
    run_to_end(workspace.resume("")).refused("--serial");

    drop(device);
    let device = Loop::attach(&[], &image);
    // It may have another path now, where it would not be looked for.
    let path = device.path.to_str().unwrap();
    change_journal(&workspace, |job| {
        job["drives"][0]["target"]["path"] = path.into()
    });
    run_to_end(workspace.resume(&first)).refused("no target has this serial number");
    let second = format!("--serial {}", serial(&device.path));
    run_to_end(workspace.resume(&second)).succeeded();
    assert!(!workspace.has_journal());
}

/// A script gives the serial numbers of all drives of its job again, also of those that are done or missing.
fn a_job_is_resumed_with_the_serial_numbers_of_all_its_drives() {
    let lab = Lab::new();
    let workspace = Workspace::new();
    let [done, left, missing] = [(); 3].map(|()| lab.device(SIZE as u64));
    let devices = [&done, &left, &missing].map(|device| device.path.as_path());
    let serials = devices.map(|device| format!("--serial {} ", serial(device)));
    let all = serials.concat();
    let mut running = Running::start(workspace.wipe(&format!("{SLOW} {all}"), &devices));
    wait_for_checkpoint(&mut running);
    running.kill();
    drop(missing);
    let nowhere = workspace.path("detached");
    change_journal(&workspace, |job| {
        let drive = &mut job["drives"][0];
        end_first_pass(drive);
        drive["outcome"] = json!({ "outcome": "verified" });
        // Anybody may attach something at its old path.
        job["drives"][2]["target"]["path"] = nowhere.to_str().into();
    });
    // The controls: each drive that is left is confirmed, and a typing error is noticed.
    run_to_end(workspace.resume(&serials[0])).refused("--serial diskseq-");
    run_to_end(workspace.resume(&format!("{all} --serial other"))).refused("--serial other");
    let done = run_to_end(workspace.resume(&all)).failed("1 of 3 drives");
    assert_eq!(done.events("ended")[0]["drive"], 1);
}

/// A loop device has no secure discard.
fn a_drive_whose_erase_fails_is_overwritten_nevertheless() {
    let lab = Lab::new();
    let workspace = Workspace::new();
    let device = lab.device(SIZE as u64);
    let options = format!("--serial {}", serial(&device.path));
    start_and_kill(&workspace, &options, &[&device.path]);
    change_journal(&workspace, |job| {
        let drive = &mut job["drives"][0];
        drive["passes"] = json!([]);
        drive["purge"] = json!({
            "means": "secure-discard", "untried_on_hardware": true, "began": null, "ended": null, "failure": null
        });
    });
    let done = run_to_end(workspace.resume(&options)).failed("1 of 1 drives not wiped as asked");
    let why = done.events("purged")[0]["failure"].as_str().unwrap();
    assert!(why.contains("not supported"), "{why}");
    let report = read(&workspace.reports()[0]);
    let drive = &report["drives"][0];
    assert_eq!(drive["purge"]["failure"], why);
    assert_eq!(drive["outcome"]["outcome"], "incomplete");
    assert_eq!(drive["verification"]["compared"], SIZE);
    assert_eq!(drive["verification"]["differing_bytes"], 0);
}

/// Writes over the beginning of `target`.
fn overwrite(target: &Path, bytes: &[u8]) {
    let file = fs::File::options().write(true).open(target).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

pub const TESTS: &[Test] = tests![
    a_killed_run_resumes_at_its_checkpoint,
    a_killed_verification_of_a_pass_resumes_at_its_checkpoint,
    a_resumed_wipe_is_compared_with_the_medium: [LOOP_DEVICES],
    a_sample_begins_anew,
    a_first_signal_stops_at_a_checkpoint_and_says_how_to_resume,
    another_target_is_not_resumed,
    a_missing_target_can_be_resumed_later,
    a_job_killed_at_its_very_end_is_ended_by_resuming_it,
    journals_that_were_changed_are_refused,
    a_journal_that_changes_places_is_judged_as_it_was_read,
    a_loop_device_is_confirmed_again: [LOOP_DEVICES],
    a_job_is_resumed_with_the_serial_numbers_of_all_its_drives: [LOOP_DEVICES],
    a_drive_whose_erase_fails_is_overwritten_nevertheless: [LOOP_DEVICES],
];
