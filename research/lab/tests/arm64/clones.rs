//! Resets of machines with arm64, which have nothing that notifies of a clone: only what squall makes of the
//! cycle counter and the CPU's random instruction keeps their clones apart.

use serde_json::Value;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::clones::repeats;
use crate::common::{Workspace, complaint, turn};
use squall_guests::commands::{contains, succeed};
use squall_guests::needs::ARM64;

pub const TESTS: &[Test] = tests![
    clones_repeat_only_without_guards: [ARM64],
    scenarios_of_x86_64_are_refused: [ARM64],
];

/// Clones of a machine.
const CLONES: u64 = 4;

/// With the random instruction and without, with pages of 4 and 16 KiB.
const MACHINES: [&str; 2] = ["6.12-arm64", "newest-arm64-16k+rndr"];

fn clones_repeat_only_without_guards() {
    let _turn = turn();
    let mut repeats_without_pads = 0;
    for machine in MACHINES {
        for (scenario, guarded, controls) in [
            (
                "ticks",
                &["squall", "squall_words", "squall_no_signal"][..],
                &["naive", "squall_unguarded"][..],
            ),
            ("threads", &["squall"], &["squall_unguarded"]),
        ] {
            let workspace = Workspace::new();
            let printed = succeed(workspace.lab(&format!(
                "reset --machine {machine} --scenario {scenario} --runs {CLONES} --timeout 1200 --json"
            )));
            let report: Value = serde_json::from_str(&printed).expect("JSON");
            assert_eq!(report["experiments"][0]["verdict"]["validity"], "valid");
            let status = &report["experiments"][0]["facts"]["status"];
            assert_eq!(status["clone_guard"], "no-signal");
            for source in guarded {
                assert_eq!(repeats(&report, source), (0, 0), "{machine}: {source}");
            }
            for control in controls {
                let (words, clones) = repeats(&report, control);
                assert!(words > 0, "{machine}: {control}");
                assert_eq!(clones, CLONES, "{machine}: {control}");
            }
            repeats_without_pads += repeats(&report, "squall_signal_only").0;
        }
    }
    // The control for pads. A clone whose kernel reseeds before its first request repeats nothing.
    assert!(repeats_without_pads > 0);
}

fn scenarios_of_x86_64_are_refused() {
    let workspace = Workspace::new();
    for (arguments, reason) in [
        ("--scenario bursts", "does not run the scenario bursts"),
        ("--scenario go", "does not run the scenario go"),
        ("--accelerator kvm", "is always emulated"),
    ] {
        let arguments = format!("reset --machine 6.12-arm64 {arguments}");
        let output = workspace.lab(&arguments).output().expect("the lab runs");
        contains(&complaint(&output, 2), &["6.12-arm64", reason]);
    }
}
