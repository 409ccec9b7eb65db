//! Runs `squall-lab stops` with a machine that is stopped a few times in each way.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Workspace, files, turn};
use squall_guests::commands::{contains, succeed};
use squall_guests::needs::MACHINES;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    every_stop_has_a_gap: [MACHINES],
    the_table_has_every_kind_of_stop: [MACHINES],
];

const FEW: [&str; 7] = [
    "stops",
    "--stops",
    "20",
    "--snapshots",
    "2",
    "--clones",
    "2",
];

fn lab(workspace: &Workspace, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall-lab"));
    command.args(FEW).args(more);
    command.env("TMPDIR", workspace.path("tmp"));
    command
}

fn every_stop_has_a_gap() {
    let _turn = turn();
    let workspace = Workspace::new();
    let printed = succeed(lab(&workspace, &["--json"]));
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    for (place, (kind, wanted)) in [("stop", 20), ("snapshot", 2), ("clone", 2)]
        .into_iter()
        .enumerate()
    {
        let found = &report["kinds"][place];
        let number = |key: &str| found[key].as_u64().expect("a number");
        assert_eq!(found["kind"], kind);
        assert_eq!(number("stops") + number("overwritten"), wanted, "{kind}");
        if number("stops") > 0 {
            assert!(0 < number("least") && number("least") <= number("median"));
        }
    }
    assert_eq!(report["undisturbed"]["gaps"], 100_000);
    assert_eq!(files(&workspace.path("tmp")), Vec::<&Path>::new());
    assert_eq!(workspace.users_of(""), Vec::<u32>::new());
}

fn the_table_has_every_kind_of_stop() {
    let _turn = turn();
    let workspace = Workspace::new();
    let printed = succeed(lab(&workspace, &[]));
    let kinds = [
        "stopped and continued ",
        "stopped for a snapshot ",
        "clone of a snapshot ",
        "no stop ",
    ];
    contains(&printed, &kinds);
    contains(
        &printed,
        &["squall's GAP is 1000 cycles", "One exit to the hypervisor"],
    );
}
