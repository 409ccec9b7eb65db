//! `squall openssl-conf`: with its lines OpenSSL draws from the provider, and `--check` confirms it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use squall_testing::suite::{Need, Test};
use squall_testing::{artifacts, tests};
use tempfile::TempDir;

use crate::common::{refused, run, squall, text};

/// An OpenSSL library that supports providers.
const LIBCRYPTO: Need = Need {
    check: || {
        let output = run("openssl-conf --check");
        let lacks = "libcrypto.so.3 is not installed";
        let is_there = !text(&output.stderr).contains(lacks);
        is_there.then_some(()).ok_or_else(|| lacks.into())
    },
    required_by: "SQUALL_REQUIRE_PROGRAMS",
};

/// Writes the lines for the installed provider to a file, after applying `change`.
fn write_lines(change: impl Fn(&str) -> String) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("openssl.cnf");
    fs::write(&file, change(&lines(&artifacts::provider()))).expect("a file");
    (folder, file)
}

fn lines(module: &Path) -> String {
    let mut command = squall("openssl-conf --module");
    let output = command.arg(module).output().expect("the command runs");
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout)
}

fn check(configuration: Option<&Path>) -> Output {
    let mut command = squall("openssl-conf --check");
    command.env_remove("OPENSSL_CONF");
    command.envs(configuration.map(|file| ("OPENSSL_CONF", file)));
    command.output().expect("the command runs")
}

#[track_caller]
fn assert_effective(configuration: &Path, parts: &[&str]) {
    let output = check(Some(configuration));
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{shown}");
    for part in parts {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[track_caller]
fn assert_ineffective(configuration: Option<&Path>, parts: &[&str]) {
    let output = check(configuration);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert_eq!(message.lines().count(), 1, "{message}");
    for part in parts {
        assert!(message.contains(part), "{part}: {message}");
    }
}

fn the_printed_lines_take_effect() {
    let (_folder, file) = write_lines(str::to_owned);
    let shown = [
        "configured by ",
        "  Primary  SQUALL of the provider squall\n",
        "  Public   SQUALL of the provider squall\n",
        "  Private  SQUALL of the provider squall\n",
        "Random bytes are squall's.\n",
    ];
    assert_effective(&file, &shown);
}

fn seeds_alone() {
    let (_folder, file) = write_lines(|lines| lines.replace("\nrandom = SQUALL\n", "\n"));
    let shown = [
        "  Public   CTR-DRBG of the provider default\n",
        "Random bytes are OpenSSL's own; their seeds are squall's.\n",
    ];
    assert_effective(&file, &shown);
    // The control: without the seed line too, nothing comes from squall.
    let (_folder, file) = write_lines(|lines| {
        let without = lines.replace("\nrandom = SQUALL\n", "\n");
        without.replace("\nseed = SQUALL\n", "\n")
    });
    assert_ineffective(Some(&file), &["its random section does not name squall"]);
}

fn the_reason_is_reported() {
    assert_ineffective(None, &["OPENSSL_CONF is not set", "squall openssl-conf"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("missing.cnf");
    let name = file.display().to_string();
    assert_ineffective(Some(&file), &["OPENSSL_CONF names", &name, "No such file"]);
    fs::write(&file, "# nothing\n").expect("a file");
    assert_ineffective(Some(&file), &[&name, "does not mention squall"]);
    let module = artifacts::provider().display().to_string();
    let (_folder, file) = write_lines(|lines| lines.replace(&module, "/nonexistent/squall.so"));
    assert_ineffective(
        Some(&file),
        &["cannot load the provider", "/nonexistent/squall.so"],
    );
}

fn openssls_own_generators_are_shown() {
    let shown = text(&check(None).stdout);
    assert!(shown.starts_with("OpenSSL 3."), "{shown}");
    for role in ["Primary", "Public ", "Private"] {
        let line = format!("  {role}  CTR-DRBG of the provider default\n");
        assert!(shown.contains(&line), "{shown}");
    }
}

fn paths_that_openssl_cnf_has_to_quote() {
    let folder = tempfile::tempdir().expect("a folder");
    let module = folder.path().join("a $b #c 'd.so");
    fs::copy(artifacts::provider(), &module).expect("a copy");
    let file = folder.path().join("openssl.cnf");
    fs::write(&file, lines(&module)).expect("a file");
    assert_effective(&file, &["Random bytes are squall's."]);
}

fn missing_modules_are_refused() {
    let output = run("openssl-conf --module /nonexistent");
    refused(
        &output,
        2,
        &["squall: --module: /nonexistent is not a file"],
    );
    let mut command = squall("openssl-conf --module");
    let output = command
        .arg(std::env::current_exe().expect("this program"))
        .output();
    let wrong = "is not the expected library: name ossl-modules/squall.so";
    refused(&output.expect("the command runs"), 2, &[wrong]);
    refused(
        &run("openssl-conf --check --module x"),
        2,
        &["--check", "--module"],
    );
}

fn the_installed_module_is_found() {
    let mut command = std::process::Command::new(artifacts::command());
    let output = command.arg("openssl-conf").output().expect("it runs");
    let module = artifacts::provider();
    let line = format!("\nmodule = {}\n", module.display());
    assert!(text(&output.stdout).contains(&line), "{output:?}");
}

pub const TESTS: &[Test] = tests![
    the_printed_lines_take_effect: [LIBCRYPTO],
    seeds_alone: [LIBCRYPTO],
    the_reason_is_reported: [LIBCRYPTO],
    openssls_own_generators_are_shown: [LIBCRYPTO],
    paths_that_openssl_cnf_has_to_quote: [LIBCRYPTO],
    missing_modules_are_refused,
    the_installed_module_is_found,
];
