//! What is done at the end of a wipe (`--then`). Stand-ins are all that the command can find of programs that turn a machine
//! off.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use squall_testing::loops::Lab;
use squall_testing::needs::{LOOP_DEVICES, MOUNTS, ROOT};
use squall_testing::suite::Test;
use squall_testing::tests;
use tempfile::TempDir;

use crate::common::text;

use super::reports::Small;
use super::workspace::{OLD, Running, Workspace, contents, run_to_end, serial};

pub const TESTS: &[Test] = tests![
    a_machine_is_turned_off_once_the_reports_are_complete,
    a_machine_stays_on_after_an_interrupt,
    a_machine_stays_on_if_the_run_cannot_begin,
    a_machine_stays_on_if_a_report_could_not_be_written,
    a_missing_or_failing_poweroff_is_reported,
    reports_in_memory_would_be_lost: [ROOT, MOUNTS],
    only_drives_with_a_standby_are_put_into_it: [LOOP_DEVICES],
];

const MIB: usize = 1 << 20;

/// Notes its name and arguments, and copies the reports as they are now.
const STAND_IN: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
here=${0%/*}
echo "${0##*/} $*" >>"$here/../called"
cp -r "$here/../reports" "$here/../reports-then"
"#;

/// A workspace on a disk, with stand-ins.
fn workspace() -> Workspace {
    let workspace = Workspace(TempDir::new_in("/var/tmp").expect("a directory"));
    let programs = programs(&workspace);
    fs::create_dir(&programs).expect("room");
    for name in ["systemctl", "poweroff"] {
        // Nobody but install(1) has the file open for writing when it is run.
        let mut install = Command::new("install");
        install
            .args(["-m", "755", "/dev/stdin"])
            .arg(programs.join(name));
        let mut install = install.stdin(Stdio::piped()).spawn().expect("install(1)");
        let mut input = install.stdin.take().expect("a pipe");
        input.write_all(STAND_IN.as_bytes()).expect("it reads");
        drop(input);
        assert!(install.wait().expect("it ends").success());
    }
    workspace
}

fn programs(workspace: &Workspace) -> PathBuf {
    workspace.path("programs")
}

/// A wipe that finds nothing but the stand-ins.
fn wipe(workspace: &Workspace, options: &str, targets: &[&Path]) -> Command {
    let mut command = workspace.wipe(options, targets);
    command.env("PATH", programs(workspace));
    command
}

/// How the stand-ins were called, a line a call.
fn called(workspace: &Workspace) -> Option<String> {
    fs::read_to_string(workspace.path("called")).ok()
}

/// Every file in a directory, with its contents.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .map(|path| {
            let name = path.strip_prefix(directory).expect("a name").to_owned();
            (name, fs::read(path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// Both after a wipe that is verified and after one that is not, in which the target grows. The control is a run without
/// `--then`.
fn a_machine_is_turned_off_once_the_reports_are_complete() {
    for options in [
        "",
        "--then poweroff",
        // The work is done in a child.
        "--then poweroff --stall 1h",
    ] {
        for grows in [false, true] {
            let workspace = workspace();
            let target = workspace.target("target", 4 * MIB);
            let options = format!("--pass zero --verify none --rate-limit 1MiB {options}");
            let mut running = Running::start(wipe(&workspace, &options, &[&target]));
            running.until("pass");
            if grows {
                let file = File::options().append(true).open(&target);
                file.expect("a target").write_all(b"more").expect("room");
            }
            let ended = running.end();
            let outcome = ended.events("ended")[0]["outcome"].clone();
            assert_eq!(outcome == "incomplete", grows, "{outcome}");
            assert_eq!(ended.code, Some(grows.into()), "{}", ended.stderr);
            let is_planned = ended.stderr.contains("this machine is turned off\n");
            assert_eq!(is_planned, options.contains("--then"), "{}", ended.stderr);
            let told = ended.events("then");
            if !options.contains("--then") {
                assert!(told.is_empty() && called(&workspace).is_none());
                continue;
            }
            assert_eq!(told[0]["what"], "poweroff");
            let program = match Path::new("/run/systemd/system").is_dir() {
                true => "systemctl poweroff\n",
                false => "poweroff \n",
            };
            assert_eq!(called(&workspace).as_deref(), Some(program));
            let (then, now) = (workspace.path("reports-then"), workspace.path("reports"));
            assert!(files(&then) == files(&now));
            assert_eq!(workspace.reports().len(), 1);
            assert!(!workspace.has_journal());
        }
    }
}

fn a_machine_stays_on_after_an_interrupt() {
    for options in ["", "--stall 1h"] {
        let workspace = workspace();
        let target = workspace.target("target", 16 * MIB);
        let options = format!("--rate-limit 4KiB --then poweroff {options}");
        let mut running = Running::start(wipe(&workspace, &options, &[&target]));
        running.until("progress");
        running.signal(Signal::INT);
        let ended = running.end();
        let ended = ended.failed("--then poweroff: not done, because the run was interrupted; ");
        let advice = format!("squall wipe --resume {}\n", workspace.journal().display());
        assert!(ended.stderr.ends_with(&advice), "{}", ended.stderr);
        assert!(ended.events("then").is_empty() && called(&workspace).is_none());
        let mut resume = workspace.resume("--then poweroff");
        resume.env("PATH", programs(&workspace));
        run_to_end(resume).succeeded();
        assert!(called(&workspace).is_some());
    }
}

/// Nobody reads the first event, so nothing is written.
fn a_machine_stays_on_if_the_run_cannot_begin() {
    let workspace = workspace();
    let target = workspace.target("target", MIB);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = wipe(&workspace, "--then poweroff", &[&target]);
    let output = command.stdout(writer).output().expect("the command runs");
    assert!(contents(&target, MIB).iter().all(|byte| *byte == OLD));
    let message = text(&output.stderr);
    assert!(message.contains("--then poweroff: not done"), "{message}");
    assert_eq!(called(&workspace), None);
}

/// Somebody has put a folder where the report goes.
fn a_machine_stays_on_if_a_report_could_not_be_written() {
    let workspace = workspace();
    let target = workspace.target("target", 4 * MIB);
    let options = "--pass zero --rate-limit 1MiB --then poweroff";
    let mut running = Running::start(wipe(&workspace, options, &[&target]));
    running.until("pass");
    let report = workspace.journal().with_extension("");
    let report = format!("{}-01-target.json", report.display());
    fs::create_dir(report).expect("room");
    let ended = running.end();
    ended.failed(
        "--then poweroff: not done, because not every drive has a final report on the disk; ",
    );
    assert_eq!(called(&workspace), None);
}

fn a_missing_or_failing_poweroff_is_reported() {
    let workspace = workspace();
    let target = workspace.target("target", MIB);
    fs::remove_dir_all(programs(&workspace)).expect("it is there");
    let refused = run_to_end(wipe(&workspace, "--then poweroff", &[&target]));
    refused.refused("--then poweroff: there is no program ");
    assert!(contents(&target, MIB).iter().all(|byte| *byte == OLD));

    // The program is there, but fails.
    fs::create_dir(programs(&workspace)).expect("room");
    for name in ["systemctl", "poweroff"] {
        std::os::unix::fs::symlink("/bin/false", programs(&workspace).join(name)).expect("room");
    }
    let failed = run_to_end(wipe(&workspace, "--then poweroff", &[&target]));
    failed.failed("the machine was not turned off: ");
}

fn reports_in_memory_would_be_lost() {
    let workspace = workspace();
    let target = workspace.target("target", MIB);
    let reports = workspace.path("reports");
    let _memory = Small::mount(&reports, MIB);
    let refused = run_to_end(wipe(&workspace, "--then poweroff", &[&target]));
    refused.refused("are in memory and would be lost");
    assert!(contents(&target, MIB).iter().all(|byte| *byte == OLD));
    assert_eq!(called(&workspace), None);
}

fn only_drives_with_a_standby_are_put_into_it() {
    let (workspace, lab) = (workspace(), Lab::new());
    let device = lab.device(MIB as u64);
    let file = workspace.target("target", MIB);
    for (options, target, words) in [
        (String::new(), &file, "target has no standby"),
        (
            format!("--serial {}", serial(&device.path)),
            &device.path,
            " has no standby",
        ),
    ] {
        let before = contents(target, MIB);
        let command = wipe(&workspace, &format!("--then standby {options}"), &[target]);
        run_to_end(command).refused(words);
        assert!(contents(target, MIB) == before);
    }
    assert!(!workspace.path("reports").exists());
}
