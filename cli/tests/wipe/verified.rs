//! Damage that `squall verify` finds and must not miss.

use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{Workspace, contents, flip, read, run_to_end};

const MIB: usize = 1 << 20;

fn one_flipped_byte_is_found_at_its_offset() {
    let workspace = Workspace::new();
    let size = 5 * MIB + 3;
    let target = workspace.target("target", size);
    run_to_end(workspace.wipe("--keep-key --verify none", &[&target])).succeeded();
    run_to_end(workspace.verify("")).succeeded();
    for offset in [0, MIB as u64 - 1, MIB as u64, 3_000_001, size as u64 - 1] {
        flip(&target, offset);
        let found = run_to_end(workspace.verify("")).failed("not as they were written");
        let differing = found.events("differing");
        assert_eq!(differing.len(), 1, "{differing:?}");
        assert_eq!(differing[0]["offset"], offset);
        assert_eq!(differing[0]["length"], 1);
        flip(&target, offset);
    }
    run_to_end(workspace.verify("")).succeeded();
}

fn every_differing_range_is_found_in_one_run() {
    let workspace = Workspace::new();
    let target = workspace.target("target", 8 * MIB);
    run_to_end(workspace.wipe("--method zero", &[&target])).succeeded();
    let offsets = [17, 40, 2_000_000, 7_999_999];
    offsets.iter().for_each(|offset| flip(&target, *offset));
    let found = run_to_end(workspace.verify("")).failed("not as they were written");
    let found: Vec<_> = found
        .events("differing")
        .iter()
        .map(|e| e["offset"].as_u64())
        .collect();
    assert_eq!(found, offsets.map(Some));
    assert!(
        contents(&target, 18)[17] == 0xff,
        "verification writes nothing"
    );
}

fn a_sample_finds_damage_that_is_everywhere() {
    let workspace = Workspace::new();
    let target = workspace.target("target", 8 * MIB);
    let done = run_to_end(workspace.wipe("--method zero --verify sample", &[&target])).succeeded();
    let report = read(&workspace.reports()[0]);
    let compared = report["drives"][0]["verification"]["compared"]
        .as_u64()
        .unwrap();
    assert!(compared > 800_000 && compared < 2 << 20, "{compared}");
    assert_eq!(done.events("ended")[0]["outcome"], "verified");
    workspace.target("target", 8 * MIB);
    run_to_end(workspace.verify("--verify sample")).failed("not as they were written");
}

pub const TESTS: &[Test] = tests![
    one_flipped_byte_is_found_at_its_offset,
    every_differing_range_is_found_in_one_run,
    a_sample_finds_damage_that_is_everywhere,
];
