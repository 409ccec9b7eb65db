//! Reports, and directories that cannot hold them.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};
use squall_testing::loops::{Lab, unmount};
use squall_testing::needs::{LOOP_DEVICES, MOUNTS, ROOT};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{OLD, Running, Workspace, contents, read, run_to_end, serial, squall_on};

const MIB: usize = 1 << 20;

/// A tmpfs of limited size, unmounted on drop.
pub struct Small<'a>(&'a Path);

impl Small<'_> {
    pub fn mount(path: &Path, size: usize) -> Small<'_> {
        fs::create_dir_all(path).unwrap();
        let options = format!("size={size}");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(path)
            .status();
        assert!(mount.unwrap().success());
        Small(path)
    }

    /// Fills the file system, until something is removed.
    fn fill(&self) {
        let mut options = fs::File::options();
        let path = self.0.join("ballast");
        let mut file = options.create(true).append(true).open(path).unwrap();
        let zeros = vec![0; 4096];
        while std::io::Write::write_all(&mut file, &zeros).is_ok() {}
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        unmount(self.0);
    }
}

fn a_full_directory_is_noticed_before_anything_is_written() {
    let workspace = Workspace::new();
    let target = workspace.target("target", MIB);
    let reports = workspace.path("reports");
    let small = Small::mount(&reports, 64 << 10);
    small.fill();
    run_to_end(workspace.wipe("", &[&target])).refused("No space left on device");
    assert!(contents(&target, MIB).iter().all(|byte| *byte == OLD));
    assert!(workspace.files("key").is_empty() && workspace.files("json").is_empty());
}

fn a_directory_that_fills_up_costs_no_report() {
    let workspace = Workspace::new();
    let target = workspace.target("target", 8 * MIB);
    let reports = workspace.path("reports");
    let small = Small::mount(&reports, 64 << 10);
    let command = workspace.wipe("--rate-limit 2MiB --checkpoint 1", &[&target]);
    let mut running = Running::start(command);
    running.until("pass");
    // A checkpoint that is being written replaces the previous one, which frees room again.
    let note = running.until_with("note", || small.fill());
    assert!(
        note["text"].as_str().unwrap().contains("No space left"),
        "{note}"
    );
    assert_eq!(running.until("ended")["outcome"], "verified");
    let event = running.until("report");
    let (code, message) = crate::common::wait_for_end(running.child);
    assert_eq!(code, Some(1));
    assert!(message.contains("standard output"), "{message}");
    let outcome = &event["report"]["drives"][0]["outcome"]["outcome"];
    assert_eq!(outcome, "verified", "{event}");

    // When there is room again, the report is written. What the journal does not know is verified once more.
    assert!(message.contains("--resume"), "{message}");
    fs::remove_file(reports.join("ballast")).unwrap();
    run_to_end(workspace.resume("")).succeeded();
    let report = read(&workspace.reports()[0]);
    assert_eq!(report["drives"][0]["outcome"]["outcome"], "verified");
    assert!(!workspace.has_journal() && workspace.files("key").is_empty());
    let again = squall_on("wipe --yes --json --resume", &[&workspace.reports()[0]]);
    again.refused("there is nothing to resume");
}

/// `command` with files of at most so many bytes.
fn with_limit(mut command: Command, bytes: u64) -> Command {
    let limit = Rlimit {
        current: Some(bytes),
        maximum: None,
    };
    // SAFETY: it makes a system call.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Fsize, limit)?)) };
    command
}

fn a_file_that_may_not_be_written_to_its_end_is_refused() {
    let workspace = Workspace::new();
    let target = workspace.target("target", MIB);
    let limited = |bytes| with_limit(workspace.wipe("", &[&target]), bytes);
    run_to_end(limited(MIB as u64 - 1)).refused("may write 1048575 bytes of a file");
    assert!(contents(&target, MIB).iter().all(|byte| *byte == OLD));
    assert!(!workspace.path("reports").exists());
    run_to_end(limited(MIB as u64)).succeeded();
}

/// The journal fits into the limit, which does not concern devices, and the page of a report does not.
fn a_report_that_may_not_be_so_long_is_written_later() {
    let lab = Lab::new();
    let workspace = Workspace::new();
    let device = lab.device(MIB as u64);
    let serial = format!("--serial {}", serial(&device.path));
    let limited = with_limit(workspace.wipe(&serial, &[&device.path]), 8 << 10);
    let done = run_to_end(limited).failed("the report is on standard output");
    assert_eq!(done.events("ended")[0]["outcome"], "verified");
    assert!(done.stderr.contains("File too large"), "{}", done.stderr);
    run_to_end(workspace.resume("")).succeeded();
    assert!(!workspace.has_journal() && workspace.files("key").is_empty());
    assert_eq!(workspace.files("html").len(), 1);
}

pub const TESTS: &[Test] = tests![
    a_file_that_may_not_be_written_to_its_end_is_refused,
    a_report_that_may_not_be_so_long_is_written_later: [LOOP_DEVICES],
    events_name_a_target_as_its_report_does,
    pages_have_local_time_beside_utc,
    a_full_directory_is_noticed_before_anything_is_written: [ROOT, MOUNTS],
    a_directory_that_fills_up_costs_no_report: [ROOT, MOUNTS],
];

/// A program may look for a target by the name in an event, which is that of the file.
fn events_name_a_target_as_its_report_does() {
    let workspace = Workspace::new();
    let target = workspace.target("a\nb \u{e9}\u{1b}", 4096);
    let done = run_to_end(workspace.wipe("", &[&target])).succeeded();
    let report = read(&workspace.reports()[0]);
    assert_eq!(
        done.events("begin")[0]["drives"][0],
        report["drives"][0]["target"]
    );
    for event in ["pass", "ended"] {
        assert_eq!(done.events(event)[0]["target"], target.to_str().unwrap());
    }
}

fn pages_have_local_time_beside_utc() {
    for (zone, offset) in [("XXX-5:30", " +05:30)"), ("UTC", "")] {
        let workspace = Workspace::new();
        let target = workspace.target("target", 4096);
        let mut command = workspace.wipe("", &[&target]);
        command.env("TZ", zone);
        run_to_end(command).succeeded();
        let page = fs::read_to_string(&workspace.files("html")[0]).expect("a page");
        let began = page.split_once("<dt>Began</dt><dd>").expect("a time").1;
        let began = began.split_once("</dd>").expect("its end").0;
        match offset {
            "" => assert!(began.ends_with(" UTC"), "{began}"),
            _ => assert!(
                began.contains(" UTC (") && began.ends_with(offset),
                "{began}"
            ),
        }
    }
}
