//! The units in the folder systemd: their arguments exist, and systemd knows their settings.

use std::path::Path;
use std::process::Command;

use squall_testing::needs::SYSTEMD_ANALYZE;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{Scratch, run, text};

/// Name and text of each unit.
fn units() -> [(&'static str, String); 2] {
    ["squall-seed.service", "squall-seed-watch.service"].map(|name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../systemd")
            .join(name);
        (
            name,
            std::fs::read_to_string(path).expect("the unit is there"),
        )
    })
}

fn units_run_what_the_command_knows() {
    for (name, unit) in units() {
        let started: Vec<_> = unit
            .lines()
            .filter_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/squall "))
            .collect();
        assert_eq!(started.len(), 1, "{name}");
        // Arguments are parsed in order: help appears only if those before it are valid.
        let known = run(&format!("{} --help", started[0]));
        assert_eq!(known.status.code(), Some(0), "{name}: {}", started[0]);
        let unknown = run(&format!("{} --zz --help", started[0]));
        assert_eq!(unknown.status.code(), Some(2));
    }
}

fn units_are_what_systemd_expects() {
    let directory = Scratch::new();
    std::fs::create_dir(directory.path()).expect("scratch directories can be made");
    let paths = units().map(|(name, unit)| {
        let path = directory.path().join(name);
        let unit = unit.replace("/usr/local/bin/squall", env!("CARGO_BIN_EXE_squall"));
        std::fs::write(&path, unit).expect("scratch files can be written");
        path
    });
    let output = Command::new("systemd-analyze")
        .arg("verify")
        .args(&paths)
        .output();
    let _ = std::fs::remove_dir_all(directory.path());
    let output = output.expect("it runs");
    // systemd-analyze also complains about the machine's own units.
    let complaints = text(&output.stderr);
    let ours: Vec<_> = complaints
        .lines()
        .filter(|line| line.contains("squall"))
        .collect();
    assert!(ours.is_empty(), "{complaints}");
}

pub const TESTS: &[Test] = tests![
    units_run_what_the_command_knows,
    units_are_what_systemd_expects: [SYSTEMD_ANALYZE],
];
