//! Damage that `squall verify` finds and must not miss.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{Workspace, flip, read, run_to_end, squall_on};

const MIB: usize = 1 << 20;

/// Each of them in one run, and nothing else; and verification writes nothing.
fn every_flipped_byte_is_found_at_its_offset() {
    let workspace = Workspace::new();
    let size = 5 * MIB + 3;
    let target = workspace.target("target", size);
    run_to_end(workspace.wipe("--keep-key --verify none", &[&target])).succeeded();
    let mib = MIB as u64;
    let offsets = [0, 40, mib - 1, mib, 3_000_001, size as u64 - 1];
    for _ in 0..2 {
        run_to_end(workspace.verify("")).succeeded();
        offsets.iter().for_each(|offset| flip(&target, *offset));
        let found = run_to_end(workspace.verify("")).failed("not as they were written");
        let found: Vec<_> = found.events("differing").into_iter().cloned().collect();
        let extent =
            |(found, offset): (&Value, u64)| found["offset"] == offset && found["length"] == 1;
        assert!(found.iter().zip(offsets).all(extent), "{found:?}");
        assert_eq!(found.len(), offsets.len());
        offsets.iter().for_each(|offset| flip(&target, *offset));
    }
}

fn a_sample_finds_damage_that_is_everywhere() {
    let workspace = Workspace::new();
    let target = workspace.target("target", 8 * MIB);
    let done = run_to_end(workspace.wipe("--pass zero --verify sample", &[&target])).succeeded();
    let report = read(&workspace.reports()[0]);
    let compared = &report["drives"][0]["verification"]["compared"];
    let compared = compared.as_u64().unwrap();
    assert!(compared > 800_000 && compared < 2 << 20, "{compared}");
    assert_eq!(done.events("ended")[0]["outcome"], "verified");
    workspace.target("target", 8 * MIB);
    run_to_end(workspace.verify("--verify sample")).failed("not as they were written");
}

fn a_verification_leaves_a_report() {
    let workspace = Workspace::new();
    let target = workspace.target("target", MIB);
    let options = "--keep-key --operator Rivera --customer Northwind --asset A-7";
    run_to_end(workspace.wipe(options, &[&target])).succeeded();
    run_to_end(workspace.verify("--operator Okafor")).succeeded();
    flip(&target, 5);
    run_to_end(workspace.verify("")).failed("not as they were written");
    let reports = workspace.verifications();
    let wipe = read(&workspace.reports()[0]);
    let [good, bad] = [read(&reports[0]), read(&reports[1])];
    assert_eq!(good["operator"], "Okafor");
    assert_eq!(bad["operator"], Value::Null);
    for (report, outcome) in [(good, "verified"), (bad, "differs")] {
        let drive = &report["drives"][0];
        assert_eq!(report["customer"], "Northwind");
        assert_eq!(drive["asset"], "A-7");
        assert_eq!(drive["outcome"]["outcome"], outcome);
        assert_eq!(drive["wipe"]["job"], wipe["id"]);
        assert_eq!(drive["wipe"]["operator"], "Rivera");
    }
    let page = fs::read_to_string(reports[1].with_extension("html")).unwrap();
    assert!(page.contains("Record of a verification") && page.contains("Differs"));

    squall_on("verify", &[&reports[0]]).refused("the report of a verification");
    let report = &workspace.reports()[0];
    let twice = squall_on("verify", &[report, report]);
    twice.refused("which another of these reports is about too");
}

/// What was found after the passes is in the report of the wipe, and does not count again.
fn what_was_found_before_is_not_found_again() {
    let workspace = Workspace::new();
    let target = workspace.target("target", MIB);
    run_to_end(workspace.wipe("--pass zero,one --verify-each", &[&target])).succeeded();
    let path = &workspace.reports()[0];
    let mut report = read(path);
    let found = &mut report["drives"][0]["passes"][0]["verification"];
    assert_eq!(found["compared"], MIB);
    found["differing_bytes"] = 5.into();
    fs::write(path, report.to_string()).unwrap();
    run_to_end(workspace.verify("")).succeeded();
    let report = read(&workspace.verifications()[0]);
    let passes = &report["drives"][0]["passes"];
    assert_eq!(passes[0]["verification"], Value::Null);
    assert_eq!(report["drives"][0]["outcome"]["outcome"], "verified");
}

/// The report of a job is one of all its drives, and names the keys of each.
fn the_report_of_a_job_can_be_verified() {
    let workspace = Workspace::new();
    let targets = ["one", "two"].map(|name| workspace.target(name, MIB));
    let paths = [targets[0].as_path(), &targets[1]];
    run_to_end(workspace.wipe("--keep-key", &paths)).succeeded();
    let reports = workspace.job_reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(read(&reports[0])["drives"].as_array().unwrap().len(), 2);
    let page = fs::read_to_string(reports[0].with_extension("html")).unwrap();
    assert!(page.contains("Record of a job") && page.contains("Verified"));
    let done = squall_on("verify --json", &[&reports[0]]).succeeded();
    assert_eq!(done.events("ended").len(), 2);
    assert_eq!(workspace.verifications().len(), 2);
}

/// Each drive has a report, also the missing one.
fn a_missing_drive_does_not_stop_the_others() {
    let workspace = Workspace::new();
    let targets = ["one", "two"].map(|name| workspace.target(name, MIB));
    run_to_end(workspace.wipe("--pass zero", &[&targets[0], &targets[1]])).succeeded();
    fs::rename(&targets[0], workspace.path("aside")).expect("it is moved");
    let verify = || squall_on("verify --json", &[&workspace.job_reports()[0]]);
    let done = verify().failed("1 of 2 drives were not compared completely");
    assert!(done.stderr.contains("not compared: "), "{}", done.stderr);
    let ended = done.events("ended");
    assert!(ended[0]["drive"] == 1 && ended[0]["outcome"] == "verified");
    let outcome = |report: &PathBuf| {
        let drive = &read(report)["drives"][0];
        json!([drive["target"]["path"], drive["outcome"]["outcome"]])
    };
    let outcomes: Vec<_> = workspace.verifications().iter().map(outcome).collect();
    assert_eq!(outcomes.len(), 2);
    for expected in [
        json!([targets[0], "vanished"]),
        json!([targets[1], "verified"]),
    ] {
        assert!(outcomes.contains(&expected), "{outcomes:?}");
    }
    // Nothing is compared if none is there.
    fs::remove_file(&targets[1]).expect("it is removed");
    verify().refused("two: No such file");
}

pub const TESTS: &[Test] = tests![
    every_flipped_byte_is_found_at_its_offset,
    a_sample_finds_damage_that_is_everywhere,
    a_verification_leaves_a_report,
    what_was_found_before_is_not_found_again,
    the_report_of_a_job_can_be_verified,
    a_missing_drive_does_not_stop_the_others,
];
