//! `squall-lab kvm`: all claims and controls with a few clones, and how it ends where there is no KVM.

use std::fs;
use std::process::Command;

use serde_json::Value;
use squall_guests::commands::contains;
use squall_lab::kvm;
use squall_testing::needs::MOUNTS;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;
use squall_testing::workspace::said;
use squall_tool_base::Failure;

use crate::common::{Workspace, complaint, report_with};

pub const TESTS: &[Test] = tests![
    no_clone_sees_a_stale_record: [KVM],
    without_kvm_it_says_so: [MOUNTS],
];

/// A /dev/kvm that runs guests.
const KVM: Need = Need {
    check: || kvm::check().map_err(Failure::into_text),
    required_by: NOTHING,
};

/// Every key of the report, at any level.
const KEYS: &str = "date kernel cpu hypervisor kvm_modules seed snapshots clones generations held claims controls ways \
    stops name times stale";

fn no_clone_sees_a_stale_record() {
    let report = report_with(KEYS, "kvm --snapshots 1 --clones 1 --seed 7");
    assert_eq!(report["held"], true);
    let workspace = Workspace::new();
    let mut few = workspace.lab("kvm --snapshots 5 --clones 4 --json");
    let printed = said(&mut few);
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    let list = |key: &str| report[key].as_array().expect("a list").iter();
    for claim in list("claims") {
        assert_eq!(claim["stale"], 0, "{claim}");
        // Two of the snapshots are taken before a look of both CPUs.
        assert!(claim["times"].as_u64() >= Some(2 * 4 * 2), "{claim}");
    }
    for control in list("controls") {
        assert_eq!(control["times"], 5, "{control}");
        assert_eq!(control["stale"], 5, "{control}");
    }
    let read = |end| fs::read_to_string(workspace.path(&format!("output/kvm.{end}")));
    assert_eq!(read("json").expect("a report"), printed);
    let markdown = read("md").expect("a report");
    contains(&markdown, &["| a CPU's own record | ", "| MSR 12, "]);
}

fn without_kvm_it_says_so() {
    let refused = |device: &str, why: &str| {
        let script = format!("mount -t tmpfs -o nodev tmpfs /dev && {device} && exec \"$0\" kvm");
        let lab = env!("CARGO_BIN_EXE_squall-lab");
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", &script, lab]);
        let message = complaint(&unshare.output().expect("unshare runs"), 1);
        assert_eq!(message, format!("squall-lab: /dev/kvm: {why}"));
    };
    refused(
        "true",
        "No such file or directory: use a machine on which KVM works",
    );
    refused(
        "mknod /dev/kvm c 10 232",
        "Permission denied: be root or in the group kvm",
    );
}
