//! Runs `squall-lab reset --scenario go`: clones of a Go program on a real machine.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{Workspace, files, turn};
use squall_guests::commands::{contains, succeed};
use squall_guests::needs::MACHINES;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    clones_of_a_go_program_repeat_only_what_it_buffers: [GO_MODULE, MACHINES],
];

/// A Go that is recent enough for the program.
pub const GO_MODULE: Need = Need {
    check: || {
        let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../../go");
        let mut look = Command::new("go");
        look.args(["list", "-m"]).current_dir(module);
        let looked = look.env("GOTOOLCHAIN", "local").output();
        let found = looked.is_ok_and(|output| output.status.success());
        found
            .then_some(())
            .ok_or_else(|| "install Go 1.26 or later (https://go.dev/dl)".into())
    },
    required_by: NOTHING,
};

/// The report on `source`, which must have given many outputs.
#[track_caller]
fn source<'a>(report: &'a Value, source: &str) -> &'a Value {
    let sources = report["experiments"][0]["sources"].as_array();
    let named = |entry: &&Value| entry["source"] == source;
    let found = sources.expect("sources").iter().find(named);
    let found = found.expect("the source");
    assert!(found["repeats"]["outputs"].as_u64() > Some(1000), "{found}");
    found
}

fn clones_of_a_go_program_repeat_only_what_it_buffers() {
    let _turn = turn();
    let workspace = Workspace::new();
    let printed =
        succeed(workspace.lab("reset --scenario go --machine 6.12+vmgenid --runs 3 --json"));

    let report: Value = serde_json::from_str(&printed).expect("JSON");
    let experiment = &report["experiments"][0];
    assert_eq!(experiment["mode"], "go");
    assert_eq!(experiment["runs"], 3);
    assert_eq!(experiment["verdict"]["validity"], "valid");
    let naive = &source(&report, "go_naive")["repeats"];
    assert_eq!(naive["machines_with_repeats"], 3, "{naive}");
    assert!(naive["repeated_outputs"].as_u64() > Some(1000), "{naive}");
    let squall = source(&report, "go_squall");
    assert_eq!(squall["repeats"]["repeated_words"], 0, "{squall}");
    assert_eq!(squall["window"]["clones_without_notice"], 0, "{squall}");
    let words = source(&report, "go_squall_words");
    assert_eq!(words["repeats"]["repeated_words"], 0, "{words}");
    source(&report, "go_crypto_rand");

    // This tests squall's own state, on a machine that is notified of clones late.
    let status = &experiment["facts"]["status"];
    assert_eq!(status["clone_guard"], "vmgenid", "{status}");
    assert_eq!(status["engine"], "aesni", "{status}");

    let output = workspace.path("output");
    let read = |name: &str| fs::read_to_string(output.join(name)).expect("a report");
    assert_eq!(read("reset-go.json"), printed);
    contains(
        &read("reset-go.md"),
        &["| go_squall ", "All experiments are valid"],
    );
    assert!(files(&workspace.path("tmp")).is_empty());
    assert_eq!(workspace.users_of(""), Vec::<u32>::new());
}
