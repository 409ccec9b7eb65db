//! Runs `squall-lab boot` and `reset` with real machines whose kernel is notified of clones.

use crate::common::{Workspace, source, turn};
use serde_json::Value;
use squall_guests::needs::{KVM_CLOCK, MACHINES, MODULE};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    clones_repeat_only_without_guards: [MACHINES],
    without_request_pads_some_clones_repeat: [MACHINES],
    boots_do_not_repeat: [MACHINES],
    vmgenids_page_alone_prevents_repeats: [MACHINES, MODULE],
    with_a_copy_of_the_page_all_clones_repeat: [MACHINES, MODULE],
    kvm_clocks_records_are_new_when_a_cpu_first_runs: [MACHINES, KVM_CLOCK],
    with_kvm_clocks_old_records_all_clones_repeat: [MACHINES, KVM_CLOCK],
];

/// How often `name` repeated words, and in how many clones.
#[track_caller]
pub fn repeats(report: &Value, name: &str) -> (u64, u64) {
    let repeats = &source(report, name, 1000)["repeats"];
    let number = |key: &str| repeats[key].as_u64().expect("a number");
    (number("repeated_words"), number("machines_with_repeats"))
}

fn clones_repeat_only_without_guards() {
    let _turn = turn();
    let workspace = Workspace::new();
    let (printed, report) = workspace.report("reset --machine 6.12+vmgenid --runs 4");
    assert_eq!(report["experiments"].as_array().expect("a list").len(), 1);
    assert_eq!(report["experiments"][0]["runs"], 4);
    for control in ["naive", "squall_unguarded"] {
        let (words, clones) = repeats(&report, control);
        assert!(words > 0, "{control}");
        assert_eq!(clones, 4, "{control}");
    }
    for guarded in ["squall", "squall_words", "squall_no_signal"] {
        assert_eq!(repeats(&report, guarded), (0, 0), "{guarded}");
    }

    workspace.has_written("reset", &printed, "| 6.12+vmgenid ");
}

/// Clones repeat if they draw between their first instruction and the notification of their kernel.
/// Some do.
fn without_request_pads_some_clones_repeat() {
    let _turn = turn();
    let repeat = |_| {
        let (_, report) = Workspace::new().report("reset --machine 6.12+vmgenid --runs 4");
        repeats(&report, "squall_signal_only").0 > 0
    };
    assert!((0..20).any(repeat));
}

/// A report on four clones of a machine in which the module is loaded.
fn with_module(shows: &str, scenario: &str) -> Value {
    let machine = format!("6.12+vmgenid+{shows}");
    let arguments = format!("reset --machine {machine} --scenario {scenario} --runs 4");
    let (_, report) = Workspace::new().report(&arguments);
    assert_eq!(report["experiments"][0]["facts"]["vmgenid_page"], 40);
    report
}

fn vmgenids_page_alone_prevents_repeats() {
    let _turn = turn();
    for scenario in ["ticks", "threads"] {
        let report = with_module("module", scenario);
        for guarded in ["squall", "squall_words", "squall_signal_only"] {
            assert_eq!(repeats(&report, guarded), (0, 0), "{scenario}: {guarded}");
        }
    }
}

/// The control: the page alone prevents repeats in the test above.
fn with_a_copy_of_the_page_all_clones_repeat() {
    let _turn = turn();
    let report = with_module("copy", "ticks");
    let (words, clones) = repeats(&report, "squall_signal_only");
    assert!(words > 1000);
    assert_eq!(clones, 4);
    assert_eq!(repeats(&report, "squall_no_signal"), (0, 0));
}

/// A report on four clones of a machine with kvm-clock and three CPUs.
fn with_kvm_clock(clock: &str, scenario: &str) -> Value {
    let machine = format!("6.12+{clock} --cpus 3");
    let arguments = format!("reset --machine {machine} --scenario {scenario} --runs 4");
    let (_, report) = Workspace::new().report(&arguments);
    assert_eq!(report["experiments"][0]["facts"]["cpus"], 3);
    report
}

/// Otherwise a CPU would draw before it sees that it is a clone's.
fn kvm_clocks_records_are_new_when_a_cpu_first_runs() {
    let _turn = turn();
    for scenario in ["ticks", "threads"] {
        let report = with_kvm_clock("kvm-clock", scenario);
        // Threads without pause leave it few turns, but one on each CPU of each clone.
        for guarded in ["kvm_clock", "squall_signal_only"] {
            let repeats = &source(&report, guarded, 12)["repeats"];
            assert_eq!(repeats["repeated_words"], 0, "{scenario}: {guarded}");
        }
    }
}

/// The control: the records prevent repeats in the test above.
fn with_kvm_clocks_old_records_all_clones_repeat() {
    let _turn = turn();
    let report = with_kvm_clock("stale-kvm-clock", "ticks");
    let (words, clones) = repeats(&report, "kvm_clock");
    assert!(words > 1000);
    assert_eq!(clones, 4);
}

fn boots_do_not_repeat() {
    let _turn = turn();
    let workspace = Workspace::new();
    let (printed, report) = workspace.report("boot --machine 6.12 --runs 2");
    assert_eq!(report["experiments"][0]["kind"], "boot");
    assert_eq!(repeats(&report, "squall"), (0, 0));
    workspace.has_written("boot", &printed, "| squall ");
}
