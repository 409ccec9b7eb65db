//! The library prepares threads before `main`, also in a statically linked program and with any build
//! profile of the archive. A linker takes only those members of an archive that something refers to.

use std::path::PathBuf;
use std::process::Command;

use squall_testing::artifacts;
use squall_testing::needs::TEST_ALL;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{Linked, PKG_CONFIG, Program, libraries, succeed};

/// Other builds of the archive: a profile's name, and Cargo configuration for it.
const BUILDS: [(&str, &[&str]); 3] = [
    ("dev", &["profile.dev.incremental=true"]),
    ("release", &[]),
    (
        "whole",
        &[
            "profile.whole.inherits='release'",
            "profile.whole.lto='fat'",
        ],
    ),
];

fn a_first_draw_allocates_nothing() {
    check_program(&Program::of(SOURCE, Linked::Dynamic), "a shared library");
    check_program(&Program::of(SOURCE, Linked::Static), "an archive");
}

fn a_first_draw_allocates_nothing_with_any_profile() {
    for (profile, configuration) in BUILDS {
        let archive = build(profile, configuration);
        let flags = libraries(Linked::Static)
            .into_iter()
            .map(|flag| match flag.as_str() {
                "-l:libsquall.a" => archive.display().to_string(),
                _ => flag,
            });
        check_program(&Program::with(SOURCE, flags), profile);
    }
}

const SOURCE: &str = "tests/c/prepared.c";

fn check_program(program: &Program, library: &str) {
    let exit_code = |command: &mut Command| command.output().expect("it starts").status.code();
    assert_eq!(exit_code(&mut program.command()), Some(0), "{library}");
    let control = exit_code(program.command().arg("before"));
    assert_eq!(control, Some(1), "the control, {library}");
}

/// Builds the archive with this profile in a target directory of its own.
fn build(profile: &str, configuration: &[&str]) -> PathBuf {
    let target = artifacts::target().join("archives");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["rustc", "--quiet", "--lib", "--crate-type", "staticlib"])
        .args(["--package", env!("CARGO_PKG_NAME"), "--profile", profile])
        .args(configuration.iter().flat_map(|value| ["--config", value]))
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("CARGO_INCREMENTAL")
        .env_remove("RUSTFLAGS");
    succeed(&mut cargo);
    let folder = if profile == "dev" { "debug" } else { profile };
    target.join(folder).join("libsquall_c.a")
}

pub const TESTS: &[Test] = tests![
    a_first_draw_allocates_nothing: [PKG_CONFIG],
    a_first_draw_allocates_nothing_with_any_profile: [PKG_CONFIG, TEST_ALL],
];
