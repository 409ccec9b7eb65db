//! What targets contain after a wipe: every byte, at every length, also where the system grants less than usual.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{OLD, Workspace, assert_keystream, contents, key, read, run_to_end};
use crate::common::{run, text};

pub const TESTS: &[Test] = tests![
    random_passes_are_the_keystream_of_their_keys,
    a_kept_key_is_a_seed_of_squall_stream,
    constant_bytes_need_no_key,
    keys_end_with_the_job,
    a_dry_run_writes_nothing,
    threads_replace_io_uring_where_it_is_refused,
    a_low_limit_on_locked_memory_suffices,
];

const MIB: usize = 1 << 20;

/// Lengths around those of sectors, pages and transfers, in bytes.
const LENGTHS: [usize; 9] = [
    1,
    511,
    512,
    4095,
    4097,
    MIB - 1,
    MIB + 1,
    9 * MIB + 513,
    12 * MIB,
];

/// No two of them are the same, in one run or in two.
fn random_passes_are_the_keystream_of_their_keys() {
    let mut all = BTreeSet::new();
    for direct in ["auto", "off"] {
        let workspace = Workspace::new();
        let name = |size: &usize| format!("target-{size}");
        let targets: Vec<_> = LENGTHS
            .iter()
            .map(|size| workspace.target(&name(size), *size))
            .collect();
        let paths: Vec<&Path> = targets.iter().map(|path| path.as_path()).collect();
        let options = format!("--keep-key --direct {direct}");
        run_to_end(workspace.wipe(&options, &paths)).succeeded();
        let keys = workspace.files("key");
        assert_eq!(keys.len(), LENGTHS.len());
        for ((target, size), file) in targets.iter().zip(LENGTHS).zip(&keys) {
            let key = key(file, 0);
            assert_keystream(target, size, &key);
            assert!(all.insert(key));
            assert_eq!(fs::metadata(target).unwrap().len(), size as u64);
        }
    }
}

fn a_kept_key_is_a_seed_of_squall_stream() {
    let workspace = Workspace::new();
    let target = workspace.target("target", 100_001);
    run_to_end(workspace.wipe("--keep-key --rounds 2", &[&target])).succeeded();
    let key = &workspace.files("key")[0];
    let mode = fs::metadata(key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let stream = run(&format!(
        "stream --size 100001 --seed-file {}",
        key.display()
    ));
    assert!(stream.status.success(), "{}", text(&stream.stderr));
    assert!(stream.stdout == contents(&target, 100_001));
    run_to_end(workspace.verify("")).succeeded();
    fs::remove_file(key).unwrap();
    run_to_end(workspace.verify("")).refused("its key is missing");
}

fn constant_bytes_need_no_key() {
    for (pass, expected) in [
        ("zero", 0),
        ("one", 0xff),
        ("0x55", 0x55),
        ("random,0x5A", 0x5a),
    ] {
        let workspace = Workspace::new();
        let target = workspace.target("target", 3 * MIB + 7);
        let options = format!("--pass {pass} --keep-key");
        let done = run_to_end(workspace.wipe(&options, &[&target])).succeeded();
        let found = contents(&target, 3 * MIB + 7);
        assert!(found.iter().all(|byte| *byte == expected), "{pass}");
        assert!(workspace.files("key").is_empty());
        assert_eq!(done.events("ended")[0]["outcome"], "verified");
    }
}

fn keys_end_with_the_job() {
    let workspace = Workspace::new();
    let target = workspace.target("target", MIB);
    run_to_end(workspace.wipe("", &[&target])).succeeded();
    assert!(workspace.files("key").is_empty());
    assert!(!workspace.has_journal());
    let report = read(&workspace.reports()[0]);
    let drive = &report["drives"][0];
    assert_eq!(drive["outcome"]["outcome"], "verified");
    assert_eq!(drive["verification"]["compared"], MIB);
    assert!(workspace.files("html").len() == 1);
    run_to_end(workspace.verify("")).refused("its key was destroyed");
}

fn a_dry_run_writes_nothing() {
    let workspace = Workspace::new();
    let target = workspace.target("target", MIB);
    let plan = run_to_end(workspace.wipe("--dry-run", &[&target])).succeeded();
    assert_eq!(plan.events("plan")[0]["drives"][0]["size"], MIB);
    let plan = run(&format!("wipe --dry-run {}", target.display()));
    assert!(text(&plan.stdout).contains("nothing was written"));
    assert!(contents(&target, MIB).iter().all(|byte| *byte == OLD));
    assert!(!workspace.path("reports").exists());
}

const SIZE: usize = (6 << 20) + 513;

fn threads_replace_io_uring_where_it_is_refused() {
    for (refused, queue) in [(false, "io_uring"), (true, "threads")] {
        let workspace = Workspace::new();
        let target = workspace.target("target", SIZE);
        let mut command = workspace.wipe("--keep-key", &[&target]);
        if refused {
            let refusal = Refusal {
                call: libc::SYS_io_uring_setup,
                when: None,
                errno: libc::EPERM,
            };
            command = refusing(command, &[refusal]);
        }
        run_to_end(command).succeeded();
        let report = read(&workspace.reports()[0]);
        assert_eq!(report["drives"][0]["transfer"]["queue"], queue);
        assert_keystream(&target, SIZE, &key(&workspace.files("key")[0], 0));
    }
}

fn a_low_limit_on_locked_memory_suffices() {
    let workspace = Workspace::new();
    let targets = ["one", "two"].map(|name| workspace.target(name, SIZE));
    let wipe = workspace.wipe("--keep-key", &[&targets[0], &targets[1]]);
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            r#"ulimit -l 8192 && exec setpriv --bounding-set=-ipc_lock "$@""#,
            "-",
        ])
        .arg(wipe.get_program())
        .args(wipe.get_args());
    run_to_end(command).succeeded();
    for (target, file) in targets.iter().zip(workspace.files("key")) {
        assert_keystream(target, SIZE, &key(&file, 0));
    }
}
