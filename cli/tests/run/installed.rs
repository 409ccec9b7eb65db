//! Where `squall run` finds the library: where it is installed, and where Cargo builds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use squall_testing::artifacts;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::copy_program;

use super::{LOADED, Workspace, output};
use crate::common::{refused, text};

/// Copies the command to `place` in a workspace.
fn command(workspace: &Workspace, place: &str) -> PathBuf {
    copy_program(
        Path::new(env!("CARGO_BIN_EXE_squall")),
        &workspace.path(place),
    )
}

fn the_library_is_found_below_the_prefix() {
    let multiarch = format!(
        "lib/{}-linux-gnu/libsquall-preload.so",
        std::env::consts::ARCH
    );
    for (command_at, library_at) in [
        ("bin/squall", "lib/libsquall-preload.so"),
        ("bin/squall", &multiarch),
        ("sbin/squall", &multiarch),
    ] {
        let workspace = Workspace::new();
        let probe = workspace.probe();
        let command = command(&workspace, command_at);
        let run = |command: &Path| output(Command::new(command).args(["run", "--"]).arg(&probe));
        let looked = workspace
            .path("lib/libsquall-preload.so")
            .display()
            .to_string();
        let install = format!("run `make install PREFIX={}`", workspace.path("").display());
        let install = install.replace("/`", "`");
        let right = ["not installed", &looked, "--library", &install];
        refused(&run(&command), 1, &right);
        copy_program(&artifacts::preload(), &workspace.path(library_at));
        assert_eq!(text(&run(&command).stdout), LOADED);
        let link = workspace.path("link");
        std::os::unix::fs::symlink(&command, &link).unwrap();
        assert_eq!(text(&run(&link).stdout), LOADED);
    }
}

fn the_installed_library_is_found() {
    let workspace = Workspace::new();
    let probe = workspace.probe();
    let mut command = Command::new(artifacts::command());
    let output = output(command.args(["run", "--"]).arg(&probe));
    assert_eq!(text(&output.stdout), LOADED);
}

/// Cargo builds the library there, with the command that the error message gives.
fn the_built_library_is_found_beside_the_command() {
    let workspace = Workspace::new();
    let command = command(&workspace, "target/release/squall");
    let script = "grep -c libsquall_preload.so /proc/self/maps > /dev/null && echo loaded";
    let run = || output(Command::new(&command).args(["run", "sh", "-c", script]));
    refused(&run(), 1, &["not installed", "run `make install` in"]);
    let tag = "# This file is a cache directory tag created by cargo.\n";
    fs::write(workspace.path("target/CACHEDIR.TAG"), tag).expect("a file");
    let build = "run `cargo build --release -p squall-preload`";
    refused(&run(), 1, &["is not built yet", build]);
    let asked = output(Command::new(&command).arg("openssl-conf"));
    let build = "run `cargo build --release -p squall-openssl`";
    refused(&asked, 1, &["is not built yet", build]);
    copy_program(
        &artifacts::preload(),
        &workspace.path("target/release/libsquall_preload.so"),
    );
    assert_eq!(text(&run().stdout), "loaded\n");
}

pub const TESTS: &[Test] = tests![
    the_library_is_found_below_the_prefix,
    the_installed_library_is_found,
    the_built_library_is_found_beside_the_command,
];
