//! Runs `squall-lab stops` with a machine that is stopped a few times in each way.

use std::path::Path;

use serde_json::Value;

use crate::common::{Workspace, files, lab, turn};
use squall_guests::needs::MACHINES;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::said;

pub const TESTS: &[Test] = tests![
    every_stop_has_a_gap: [MACHINES],
];

fn every_stop_has_a_gap() {
    let _turn = turn();
    let workspace = Workspace::new();
    let mut few = lab("stops --stops 20 --snapshots 2 --clones 2 --json");
    few.env("TMPDIR", workspace.path("tmp"));
    let printed = said(&mut few);
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    for (place, kind, wanted) in [(0, "stop", 20), (1, "snapshot", 2), (2, "clone", 2)] {
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
