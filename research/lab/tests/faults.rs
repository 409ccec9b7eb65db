//! Faults of machines: each run ends with one line that says what happened, and leaves no process, no
//! temporary file and no report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::common::{Workspace, complaint, files, turn};
use squall_guests::commands::contains;
use squall_guests::needs::MACHINES;
use squall_testing::needs::MOUNTS;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    wrong_arguments_name_what_is_right,
    an_empty_cache_says_what_to_run,
    unwritable_directories_are_reported: [MACHINES],
    a_machine_that_exceeds_the_timeout_is_reported_as_hung: [MACHINES],
    kvm_works_or_its_failure_is_reported: [MACHINES],
    a_full_disk_is_reported: [MOUNTS, MACHINES],
    a_full_disk_for_the_report_is_reported_at_the_start: [MOUNTS],
    a_report_that_cannot_be_written_is_printed: [MOUNTS, MACHINES],
    an_interrupted_run_leaves_nothing: [MACHINES],
    machines_end_with_a_lab_that_is_killed: [MACHINES],
    a_qemu_that_is_killed_is_noticed: [MACHINES],
];

const BOOT: &str = "boot --machine 6.12 --runs 2";
const RESET: &str = "reset --machine 6.12 --runs 100";

/// A file of the second machine of a run, which is the first clone.
const CLONE: &str = "/memory-1";

/// The line of a run that must fail and leave nothing.
#[track_caller]
fn fail(workspace: &Workspace, mut command: Command) -> String {
    let output = command.output().expect("the command runs");
    let line = complaint(&output, 1);
    workspace.is_clean();
    line
}

/// The line of a run that must fail because of its arguments.
#[track_caller]
fn refuse(arguments: &str) -> String {
    let output = Workspace::new().lab(arguments).output();
    complaint(&output.expect("the command runs"), 2)
}

/// Starts a run and waits for its first clone.
#[track_caller]
fn clones(workspace: &Workspace) -> Child {
    let run = workspace.lab(RESET).spawn().expect("the command runs");
    workspace.wait_for_user_of(CLONE);
    run
}

fn signal(name: &str, process: u32) {
    assert!(has_received(name, process));
}

/// Whether there still was such a process.
fn has_received(name: &str, process: u32) -> bool {
    let kill = format!("kill -{name} {process}");
    let status = Command::new("sh").args(["-c", &kill]).status();
    status.expect("a shell").success()
}

/// A run with the workspace's own cache.
fn with_cache(workspace: &Workspace) -> Command {
    let mut command = workspace.lab(BOOT);
    command.arg("--cache").arg(workspace.path("cache"));
    command
}

/// A small file system, unmounted on drop.
struct Disk(PathBuf);

impl Disk {
    /// None if it cannot be mounted, which is reported.
    fn mount(path: PathBuf, size: &str) -> Disk {
        fs::create_dir_all(&path).expect("a directory");
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "squall-lab"])
            .arg(&path)
            .output();
        let output = output.expect("mount runs");
        assert!(output.status.success(), "{output:?}");
        Disk(path)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn wrong_arguments_name_what_is_right() {
    let line = refuse("boot --machine nonsense");
    contains(&line, &["--machine", "\"nonsense\"", "6.12+vmgenid"]);
    contains(&refuse("reset --runs 1"), &["--runs", "2..=1000"]);
    contains(&refuse("boot --timeout 0"), &["--timeout", "1..=3600"]);
    let line = refuse("reset --scenario sleep");
    contains(&line, &["--scenario", "\"sleep\"", "ticks"]);
}

fn an_empty_cache_says_what_to_run() {
    let workspace = Workspace::new();
    let line = fail(&workspace, with_cache(&workspace));
    contains(&line, &["cache/qemu", "QEMU", "make lab-deps"]);
    fs::create_dir(workspace.path("cache")).expect("a directory");
    let line = fail(&workspace, with_cache(&workspace));
    contains(&line, &["cache/qemu", "QEMU", "make lab-deps"]);
}

fn unwritable_directories_are_reported() {
    let workspace = Workspace::new();
    let file = workspace.path("file");
    fs::write(&file, "mine").expect("a file");
    let inside = file.join("report");
    for place in [&*file, &*inside, Path::new("/proc/squall-lab")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall-lab"));
        command.args(BOOT.split(' ')).arg("--output").arg(place);
        let line = fail(&workspace, command);
        contains(&line, &[place.to_str().expect("a path")]);
    }
    assert_eq!(fs::read(file).expect("a file"), b"mine");
    let mut command = workspace.lab(BOOT);
    command.env("TMPDIR", "/proc/squall-lab");
    let _turn = turn();
    contains(&fail(&workspace, command), &["/proc/squall-lab"]);
}

fn a_machine_that_exceeds_the_timeout_is_reported_as_hung() {
    let _turn = turn();
    let workspace = Workspace::new();
    let line = fail(&workspace, workspace.lab(&format!("{BOOT} --timeout 1")));
    contains(&line, &["6.12: ", "hangs: "]);
}

/// Some machines have a KVM that opens and then fails.
fn kvm_works_or_its_failure_is_reported() {
    let _turn = turn();
    let workspace = Workspace::new();
    let mut run = workspace.lab(&format!("{BOOT} --accelerator kvm --timeout 300"));
    let output = run.output().expect("the command runs");
    if output.status.success() {
        assert_ne!(files(&workspace.path("output")), Vec::<PathBuf>::new());
        return;
    }
    contains(&complaint(&output, 1), &["QEMU says: ", "KVM"]);
    workspace.is_clean();
}

fn a_full_disk_is_reported() {
    let _turn = turn();
    let faults = [
        ("40m", "memory-0: No space left on device"),
        ("164m", "the snapshot cannot be written: "),
    ];
    for (size, what) in faults {
        let workspace = Workspace::new();
        let _disk = Disk::mount(workspace.path("tmp"), size);
        let line = fail(&workspace, workspace.lab(RESET));
        contains(&line, &[what, "No space left on device"]);
    }
}

fn a_full_disk_for_the_report_is_reported_at_the_start() {
    let workspace = Workspace::new();
    let _disk = Disk::mount(workspace.path("output"), "64k");
    let line = fail(&workspace, workspace.lab(BOOT));
    contains(&line, &["/output: No space left on device"]);
}

fn a_report_that_cannot_be_written_is_printed() {
    let _turn = turn();
    let workspace = Workspace::new();
    let _disk = Disk::mount(workspace.path("output"), "2m");
    let run = workspace.lab(BOOT).spawn().expect("the command runs");
    workspace.wait_for_user_of("/memory-0");
    signal("STOP", run.id());
    // The last 4 KiB have room for only a part of the report.
    fs::write(workspace.path("output/other"), vec![0; (2 << 20) - 4096]).expect("a file");
    signal("CONT", run.id());
    let output = run.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let last = errors.lines().next_back().expect("a line");
    contains(last, &["squall-lab: ", "/output/boot.", "No space left"]);
    contains(
        &String::from_utf8_lossy(&output.stdout),
        &["All experiments are valid"],
    );
    assert_eq!(
        files(&workspace.path("output")),
        [workspace.path("output/other")]
    );
}

fn an_interrupted_run_leaves_nothing() {
    let _turn = turn();
    for name in ["INT", "TERM"] {
        let workspace = Workspace::new();
        let run = clones(&workspace);
        signal(name, run.id());
        let output = run.wait_with_output().expect("it ends");
        contains(&complaint(&output, 1), &["interrupted"]);
        workspace.is_clean();
    }
}

fn machines_end_with_a_lab_that_is_killed() {
    let _turn = turn();
    let workspace = Workspace::new();
    let mut run = clones(&workspace);
    signal("KILL", run.id());
    run.wait().expect("it ends");
    workspace.wait_for_no_user();
}

fn a_qemu_that_is_killed_is_noticed() {
    let _turn = turn();
    let workspace = Workspace::new();
    let run = clones(&workspace);
    // One that has ended meanwhile is followed by another.
    while !has_received("KILL", workspace.wait_for_user_of(CLONE)) {}
    let output = run.wait_with_output().expect("it ends");
    let line = complaint(&output, 1);
    contains(&line, &["6.12: ", "ended"]);
    workspace.is_clean();
}
