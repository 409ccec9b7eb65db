//! Errors for targets that cannot be wiped; nothing is written then.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, Mode};
use squall_testing::loops::Lab;
use squall_testing::needs::{LOOP_DEVICES, MOUNTS};
use squall_testing::runs::FinishedRun;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{OLD, Workspace, contents, run_to_end, serial};
use crate::common::{refused, squall, text};

/// What the wipe refuses, its dry run refuses in the same words.
fn a_dry_run_refuses_a_folder_for_reports_that_cannot_be_made() {
    let workspace = Workspace::new();
    let target = workspace.target("target", 4096);
    let file = workspace.target("file", 1);
    for folder in [file.as_path(), &file.join("below"), Path::new("/proc/none")] {
        let refusal = |options: &str| {
            let mut command = squall(&format!("wipe --yes {options} --report"));
            let output = command.arg(folder).arg(&target).output().expect("it runs");
            refused(&output, 2, &[folder.to_str().expect("text")]);
            text(&output.stderr)
        };
        assert_eq!(refusal("--dry-run"), refusal(""));
    }
    let made = workspace.path("new/folder");
    let mut command = squall("wipe --yes --dry-run --report");
    let output = command.arg(&made).arg(&target).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!workspace.path("new").exists(), "a dry run made a folder");
    assert!(contents(&target, 4096).iter().all(|&byte| byte == OLD));
}

/// Exit code and standard error of `squall` with these arguments, which must print nothing.
fn output_of(arguments: &str) -> (Option<i32>, String) {
    let output = squall(arguments).output().expect("the command runs");
    assert!(output.stdout.is_empty());
    (output.status.code(), text(&output.stderr))
}

fn wrong_arguments_are_one_line() {
    let wrong = [
        "wipe",
        "wipe --rounds 36 x",
        "wipe --pass zero,one --rounds 18 x",
        "wipe --depth 0 x",
        "wipe --depth 65 x",
        "wipe --rate-limit 0 x",
        "wipe --checkpoint 0 x",
        "wipe --pass shred x",
        "wipe --pass 0x555 x",
        "wipe --pass random, x",
        "wipe --verify some x",
        "wipe --direct maybe x",
        "wipe --resume a b",
        "wipe --resume a --rounds 2",
        "wipe --resume a --customer b",
        "wipe --verify-each --verify none x",
        "wipe --operator= x",
        "wipe --stall 10x x",
        "wipe --stall 0s x",
        "verify --stall 0s x",
        "blank --stall 10x x",
        "wipe --then reboot x",
        "wipe --then poweroff --dry-run x",
        "wipe --then standby --all --bus usb --watch",
        "wipe --all x",
        "wipe --all --resume a",
        "wipe --all --yes",
        "wipe --all --yes --bus usb",
        "wipe --all --yes --count 1",
        "wipe --all --watch",
        "wipe --all --bus floppy",
        "wipe --bus usb x",
        "wipe --except x y",
        "wipe --watch x",
        "wipe --count 1 x",
        "wipe --untried-on-hardware x",
        "wipe --untried-on-hardware --resume x",
        "wipe --yes /nowhere",
        "wipe --yes /dev/null",
        "wipe --yes /tmp",
        "wipe --yes --resume /nowhere",
        "wipe --yes --resume /etc/hostname",
        "wipe --yes --resume /dev/null",
        "blank",
        "blank /nowhere",
        "blank /tmp",
        "verify --verify none x",
        "verify",
    ];
    for arguments in wrong {
        let (code, message) = output_of(arguments);
        assert_eq!(code, Some(2), "{arguments}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
        assert!(message.starts_with("squall: "), "{message}");
    }
}

/// Fails unless each command that reads a report refuses `file` in one line with `words`.
#[track_caller]
fn assert_is_no_report(file: &Path, words: &str) {
    for arguments in ["verify", "wipe --resume", "bench --quick --compare"] {
        let mut command = squall(arguments);
        let output = command.arg(file).output().expect("the command runs");
        refused(&output, 2, &[&file.display().to_string(), words, ": name "]);
    }
}

/// Neither is a drive read into memory, nor a pipe waited for.
fn a_report_is_a_regular_file_that_is_not_too_long() {
    let lab = Lab::new();
    assert_is_no_report(&lab.image("image", 1 << 40), "has 1099511627776 bytes");
    assert_is_no_report(&lab.path(""), "is a directory");
    let pipe = lab.path("pipe");
    rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR).expect("a pipe");
    assert_is_no_report(&pipe, "is a pipe");
    let output = squall("status --counters").arg(&pipe).output();
    refused(&output.expect("it runs"), 2, &["not a counter file"]);
}

fn a_drive_is_no_report() {
    let lab = Lab::new();
    assert_is_no_report(&lab.device(1 << 20).path, "is a drive");
}

fn without_a_terminal_nothing_is_wiped_unasked() {
    let workspace = Workspace::new();
    let target = workspace.target("target", 4096);
    let mut command = squall("wipe --report");
    command.arg(workspace.path("reports")).arg(&target);
    let output = command.output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("--yes"));
    assert!(contents(&target, 4096).iter().all(|byte| *byte == OLD));
}

fn a_target_in_use_is_refused() {
    let lab = Lab::new();
    let workspace = Workspace::new();
    let device = lab.device(16 << 20);
    let good = workspace.target("good", 4096);
    let serial = format!("--serial {}", serial(&device.path));
    let mounted = lab.mounted(&device.path);
    run_to_end(workspace.wipe("", &[&good, &device.path])).refused("nothing was written");
    assert!(contents(&good, 4096).iter().all(|byte| *byte == OLD));
    drop(mounted);
    run_to_end(workspace.wipe(&serial, &[&good, &device.path])).succeeded();
}

/// No real drive has run the commands yet, and the user is to know that.
fn an_erase_that_is_untried_is_not_begun_unless_the_user_agrees() {
    let workspace = Workspace::new();
    let file = workspace.target("file", 4096);
    for options in ["--purge", "--purge=crypto", "--dry-run --purge"] {
        let run = run_to_end(workspace.wipe(options, &[&file]));
        run.refused("tried on emulated drives only")
            .refused("add --untried-on-hardware");
    }
    assert!(contents(&file, 4096).iter().all(|byte| *byte == OLD));
}

/// A dry run approves only a plan that would be carried out.
fn a_dry_run_refuses_a_device_that_cannot_erase_itself() {
    let (lab, workspace) = (Lab::new(), Workspace::new());
    let device = lab.device(1 << 20);
    let serial = serial(&device.path);
    let options = format!("--purge --untried-on-hardware --serial {serial}");
    let why = "it cannot erase itself: it has no secure";
    let real = run_to_end(workspace.wipe(&options, &[&device.path])).refused(why);
    let dry = workspace.wipe(&format!("--dry-run {options}"), &[&device.path]);
    let dry = run_to_end(dry).refused(why);
    assert_eq!(dry.stderr.lines().count(), 1, "{}", dry.stderr);
    assert_eq!(dry.stderr.lines().last(), real.stderr.lines().last());
    assert!(dry.events.is_empty());
}

/// /dev/loop0 may be another device after the next boot.
fn a_dry_run_refuses_names_that_may_change() {
    let lab = Lab::new();
    let device = lab.device(1 << 20);
    let workspace = Workspace::new();
    for options in ["", "--dry-run"] {
        let run = run_to_end(workspace.wipe(options, &[&device.path]));
        let run = run.refused("these names may belong to other drives");
        assert!(run.events.is_empty(), "{options}");
    }
}

/// A target takes 2 MiB at least, and squall takes three quarters of the 4 MB that are free.
fn targets_that_need_more_memory_than_is_free_are_refused() {
    let workspace = Workspace::new();
    let targets = ["one", "two"].map(|name| workspace.target(name, 4096));
    let targets = targets.each_ref().map(|path| path.as_path());
    run_to_end(workspace.wipe("--pass zero", &targets)).succeeded();
    let reports = workspace.reports();
    let reports: Vec<_> = reports.iter().map(|path| path.as_path()).collect();
    let free = workspace.path("meminfo");
    fs::write(&free, "MemAvailable: 4000 kB\n").expect("room");
    let with_free_memory = |arguments: &str, paths: &[&Path]| -> FinishedRun {
        let script = "mount --bind \"$0\" /proc/meminfo && exec \"$@\"";
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-c", script])
            .args([&free, Path::new(env!("CARGO_BIN_EXE_squall"))])
            .args(arguments.split(' '))
            .args(paths)
            .output();
        output.expect("unshare runs").into()
    };
    let report = format!("--report {}", workspace.path("second").display());
    for (arguments, paths) in [
        (
            format!("wipe --yes --json --pass zero {report}"),
            &targets[..],
        ),
        (format!("verify --json {report}"), &reports),
        ("blank --json".to_owned(), &targets),
    ] {
        with_free_memory(&arguments, &paths[..1]).succeeded();
        let refused = with_free_memory(&arguments, paths);
        refused.refused("squall: 2 targets need 4.19 MB of memory, and 4.10 MB are free: ");
    }
}

pub const TESTS: &[Test] = tests![
    wrong_arguments_are_one_line,
    a_report_is_a_regular_file_that_is_not_too_long,
    a_drive_is_no_report: [LOOP_DEVICES],
    without_a_terminal_nothing_is_wiped_unasked,
    a_target_in_use_is_refused: [LOOP_DEVICES],
    a_dry_run_refuses_a_folder_for_reports_that_cannot_be_made,
    an_erase_that_is_untried_is_not_begun_unless_the_user_agrees,
    a_dry_run_refuses_a_device_that_cannot_erase_itself: [LOOP_DEVICES],
    a_dry_run_refuses_names_that_may_change: [LOOP_DEVICES],
    targets_that_need_more_memory_than_is_free_are_refused: [MOUNTS],
];
