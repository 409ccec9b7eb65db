//! The program replaces squall's process and keeps its arguments, signals and exit code.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{Workspace, output, run};
use crate::common::text;

fn shell(script: &str) -> Command {
    let mut command = run();
    command.args(["--", "sh", "-c", script]);
    command
}

fn exit_codes_and_signals() {
    for code in [0, 1, 2, 77, 126, 255] {
        let output = output(&mut shell(&format!("exit {code}")));
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(text(&output.stderr), "");
    }
    for signal in [9, 15] {
        let output = output(&mut shell(&format!("kill -{signal} $$")));
        assert_eq!(output.status.signal(), Some(signal));
    }
}

fn the_process_stays_the_same() {
    let child = shell("echo $$").stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), format!("{id}\n"));
}

fn arguments_and_names() {
    let workspace = Workspace::new();
    let source = "#include <stdio.h>\nint main(int n, char **a) \
                  { for (int i = 0; i < n; i++) printf(\"[%s]\", a[i]); return 0; }";
    let program = workspace.program("shows", source, &[]);
    let path = std::env::join_paths([workspace.path("")]).unwrap();
    for separator in [&["--"][..], &[]] {
        let mut command = run();
        command.env("PATH", &path).args(separator);
        command.args(["shows", "--counters", "x", "--", "--help", "a b", ""]);
        let expected = "[shows][--counters][x][--][--help][a b][]";
        assert_eq!(text(&output(&mut command).stdout), expected);
    }
    let named = output(run().arg(&program));
    assert_eq!(text(&named.stdout), format!("[{}]", program.display()));
}

/// The program inherits what it would inherit from a shell.
fn signals_and_descriptors() {
    let command = run();
    let squall: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .collect();
    for before in [
        "",
        "trap '' PIPE",
        "trap '' PIPE INT",
        "exec <&-",
        "exec 0<&- 2>&-",
    ] {
        let shown = |prefix: &[&OsStr]| {
            let shows = "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/$$/fd";
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{before}\nexec \"$@\""), "sh"]);
            let output = output(shell.args(prefix).args(["sh", "-c", shows]));
            text(&output.stdout)
        };
        let without = shown(&[]);
        assert!(without.contains("SigIgn"), "{without}");
        assert_eq!(shown(&squall), without, "{before}");
    }
}

fn a_closed_pipe_ends_the_program() {
    let mut command = shell("while echo yes; do :; done 2>/dev/null");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    const SIGPIPE: i32 = 13;
    assert_eq!(child.wait().unwrap().signal(), Some(SIGPIPE));
}

pub const TESTS: &[Test] = tests![
    exit_codes_and_signals,
    the_process_stays_the_same,
    arguments_and_names,
    signals_and_descriptors,
    a_closed_pipe_ends_the_program,
];
