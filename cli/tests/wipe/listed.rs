//! `squall drives`: which devices it shows, and what uses them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::{LOOP_DEVICES, MOUNTS};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tool_base::retry::retry;

use super::workspace::{Running, Workspace, run_to_end, serial};
use crate::common::{run, text};

pub const TESTS: &[Test] = tests![
    a_device_is_free_until_it_is_mounted: [LOOP_DEVICES],
    a_claim_is_reported_by_all_commands: [LOOP_DEVICES],
    without_all_only_drives_on_a_bus_are_shown: [LOOP_DEVICES],
    without_sysfs_a_list_of_drives_is_a_failure: [MOUNTS],
];

fn listed(options: &str) -> Vec<Value> {
    let output = run(&format!("drives --json {options}"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("a JSON array")
}

#[track_caller]
fn entry(path: &Path) -> Value {
    let all = listed("--all");
    let found = all
        .iter()
        .find(|entry| entry["path"].as_str().map(Path::new) == Some(path));
    found
        .unwrap_or_else(|| panic!("{path:?} is not in {all:?}"))
        .clone()
}

fn a_device_is_free_until_it_is_mounted() {
    let lab = Lab::new();
    let image = lab.image("customer's drive.img", 16 << 20);
    let device = Loop::attach(&[], &image);
    let free = entry(&device.path);
    assert_eq!(free["file"], image.to_str().unwrap());
    let plan = format!("wipe --dry-run {}", device.path.display());
    for arguments in ["drives --all", &plan] {
        let shown = text(&run(arguments).stdout);
        assert!(shown.contains("drive.img"), "{shown}");
    }
    assert_eq!(free["kind"], "loop");
    assert_eq!(free["size"], 16 << 20);
    assert_eq!(free["uses"], serde_json::json!([]));
    let mounted = lab.mounted(&device.path);
    let used = entry(&device.path);
    let reason = used["uses"][0].as_str().expect("a reason");
    assert!(reason.starts_with("is mounted at "), "{reason}");
    let shown = text(&run("drives --all").stdout);
    assert!(shown.contains("is mounted at "), "{shown}");
    drop(mounted);
    assert_eq!(entry(&device.path)["uses"], serde_json::json!([]));
}

/// What `squall drives`, a dry run and a wipe say of `device`: each a reason, or `None` if it is free.
fn reasons(workspace: &Workspace, device: &Path) -> [Option<String>; 3] {
    let listed = entry(device)["uses"][0].as_str().map(str::to_owned);
    let serial = serial(device);
    let run = |options: &str| {
        let options = format!("{options} --serial {serial}");
        let run = run_to_end(workspace.wipe(&options, &[device]));
        let line = run.stderr.lines().last().unwrap_or_default().to_owned();
        let reason = line.split(": ").nth(2).map(str::to_owned);
        (run.code != Some(0)).then_some(reason).flatten()
    };
    [listed, run("--dry-run"), run("")]
}

fn a_claim_is_reported_by_all_commands() {
    let (lab, workspace) = (Lab::new(), Workspace::new());
    let device = lab.device(8 << 20);
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let claim = rustix::fs::open(&device.path, flags, Mode::empty()).expect("it opens");
    let claimed = Some("another process is using it".to_owned());
    assert_eq!(
        reasons(&workspace, &device.path),
        [(); 3].map(|()| claimed.clone())
    );
    drop(claim);

    let serial = serial(&device.path);
    let options = format!("--rate-limit 128KiB --serial {serial}");
    let mut wiping = Running::start(workspace.wipe(&options, &[&device.path]));
    wiping.until("pass");
    assert_eq!(
        reasons(&workspace, &device.path),
        [(); 3].map(|()| claimed.clone())
    );
    wiping.kill();
    // The kernel may still be at transfers of the process that was killed.
    let is_free = || match entry(&device.path)["uses"].as_array() {
        Some(uses) if uses.is_empty() => Ok(()),
        uses => Err(format!("{uses:?}")),
    };
    retry(Duration::from_secs(600), |_| true, is_free).expect("it is free");
    assert_eq!(reasons(&workspace, &device.path), [None, None, None]);
}

fn without_all_only_drives_on_a_bus_are_shown() {
    let lab = Lab::new();
    let device = lab.device(1 << 20);
    let is_on_a_bus = |entry: &Value| entry["kind"] == "disk" && entry["bus"].is_string();
    assert!(listed("").iter().all(is_on_a_bus));
    // The control: there is one that is not.
    assert!(!is_on_a_bus(&entry(&device.path)));
}

/// Nobody can tell how many there are.
fn without_sysfs_a_list_of_drives_is_a_failure() {
    for arguments in [
        "drives",
        "drives --all --json",
        "wipe --all --bus usb --count 1 --yes",
    ] {
        let script = "mount -t tmpfs none /sys && exec \"$0\" \"$@\"";
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-c", script])
            .arg(env!("CARGO_BIN_EXE_squall"))
            .args(arguments.split(' '))
            .output()
            .expect("unshare runs");
        let message = text(&output.stderr);
        assert_eq!(text(&output.stdout), "", "{arguments}");
        assert_eq!(
            message,
            "squall: /sys/block: No such file or directory: mount sysfs\n"
        );
        assert!(!output.status.success());
    }
}
