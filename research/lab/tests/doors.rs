//! Runs `squall-lab reset --scenario doors`: clones of unmodified programs on a real machine.

use std::fs;

use serde_json::Value;
use squall_lab::vm;

use crate::common::{Workspace, files, turn};
use squall_guests::commands::{contains, succeed};
use squall_guests::needs::{C_COMPILER, MACHINES, NGINX};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    clones_of_programs_repeat_only_output_that_squall_did_not_serve: [C_COMPILER, NGINX, MACHINES],
];

/// The report on `source`, which must have given at least `outputs` outputs.
#[track_caller]
fn source<'a>(report: &'a Value, source: &str, outputs: u64) -> &'a Value {
    let sources = report["experiments"][0]["sources"].as_array();
    let named = |entry: &&Value| entry["source"] == source;
    let found = sources.expect("sources").iter().find(named);
    let found = found.expect("the source");
    assert!(
        found["repeats"]["outputs"].as_u64() >= Some(outputs),
        "{found}"
    );
    found
}

/// How many requests squall counted at `door` after every source was asked once.
fn served(facts: &Value, door: &str) -> Option<u64> {
    let doors = facts["served"]["doors"].as_array()?;
    let found = doors.iter().find(|entry| entry["door"] == door)?;
    found["requests"].as_u64()
}

fn clones_of_programs_repeat_only_output_that_squall_did_not_serve() {
    let _turn = turn();
    let workspace = Workspace::new();
    // Build the libraries now, so that building them is not part of the run's time.
    vm::libraries().expect("squall's libraries");
    let printed =
        succeed(workspace.lab("reset --scenario doors --machine 6.12+vmgenid --runs 3 --json"));

    let report: Value = serde_json::from_str(&printed).expect("JSON");
    let experiment = &report["experiments"][0];
    assert_eq!(experiment["mode"], "doors");
    assert_eq!(experiment["runs"], 3);
    assert_eq!(experiment["verdict"]["validity"], "valid");
    for (control, outputs) in [("door_naive", 1000), ("nginx_openssl", 200)] {
        let repeats = &source(&report, control, outputs)["repeats"];
        assert_eq!(repeats["machines_with_repeats"], 3, "{repeats}");
        assert!(
            repeats["repeated_outputs"].as_u64() > Some(100),
            "{repeats}"
        );
    }
    for (guarded, outputs, door) in [
        ("door_getrandom", 1000, "getrandom"),
        ("door_arc4random", 1000, "arc4random"),
        ("door_device", 1000, "device"),
        ("nginx_squall", 200, "openssl"),
    ] {
        let found = source(&report, guarded, outputs);
        assert_eq!(found["repeats"]["repeated_words"], 0, "{found}");
        assert_eq!(found["window"]["clones_without_notice"], 0, "{found}");
        let facts = &experiment["facts"];
        assert!(served(facts, door) > Some(0), "{door}: {facts}");
    }
    source(&report, "door_kernel", 1000);

    let output = workspace.path("output");
    let read = |name: &str| fs::read_to_string(output.join(name)).expect("a report");
    assert_eq!(read("reset-doors.json"), printed);
    contains(
        &read("reset-doors.md"),
        &["| nginx_squall ", "All experiments are valid"],
    );
    assert!(files(&workspace.path("tmp")).is_empty());
    assert_eq!(workspace.users_of(""), Vec::<u32>::new());
}
