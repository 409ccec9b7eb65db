//! Programs that do not exist or cannot be executed give the exit codes of env(1) and nohup(1).

use std::ffi::OsStr;
use std::process::{Command, Output};

use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{Workspace, output, run, set_mode};
use crate::common::refused;

/// Runs a program by squall and by env(1).
fn both(name: impl AsRef<OsStr>, path: &OsStr) -> [Output; 2] {
    let by_env = format!("exec env {:?}", name.as_ref().display().to_string());
    let mut env = Command::new("/bin/sh");
    env.args(["-c", &by_env]);
    [run().arg("--").arg(name), &mut env].map(|command| output(command.env("PATH", path)))
}

fn exit_codes_are_those_of_env() {
    let workspace = Workspace::new();
    let not_executable = workspace.file("forbidden", "");
    set_mode(&not_executable, 0o644);
    let elf = workspace.file("broken", "\x7fELF and nothing else");
    let data = workspace.file("data", b"MZ\0\0");
    let lost = workspace.file("lost", "#!/nonexistent/interpreter\n");
    let folders = [workspace.path(""), "/usr/bin".into(), "/bin".into()];
    let path = std::env::join_paths(folders).unwrap();
    let in_slash = |name: &str| workspace.path(name).into_os_string();
    for (name, code) in [
        ("no-such-program".into(), 127),
        (in_slash("missing"), 127),
        (in_slash("forbidden/x"), 126),
        (in_slash(""), 126),
        (not_executable.into_os_string(), 126),
        ("forbidden".into(), 126),
        (lost.into_os_string(), 127),
    ] {
        let [ours, by_env] = both(&name, &path);
        refused(&ours, code, &[]);
        assert_eq!(by_env.status.code(), Some(code), "env {name:?}");
    }
    // env(1) passes these to a shell.
    refused(&both(elf, &path)[0], 126, &["damaged"]);
    refused(
        &both(data, &path)[0],
        126,
        &["neither an ELF program nor a script"],
    );
}

fn a_missing_program_is_reported_with_the_path() {
    let path = "/nonexistent:/also-not";
    let [ours, _] = both("missing", path.as_ref());
    refused(&ours, 127, &["missing: no such program", path]);
}

fn a_missing_argument_is_reported() {
    refused(&output(&mut run()), 2, &["PROGRAM"]);
}

pub const TESTS: &[Test] = tests![
    exit_codes_are_those_of_env,
    a_missing_program_is_reported_with_the_path,
    a_missing_argument_is_reported,
];
