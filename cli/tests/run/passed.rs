//! The program replaces squall's process and keeps its arguments, signals and exit code; it draws from squall, as the
//! counters show.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use squall_binding_base::counters::Interface;
use squall_testing::artifacts;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::{LOADED, Workspace, output, printed, run};
use crate::common::{bytes, refused, text};

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
    // squall itself outlives SIGXFSZ.
    for signal in [9, 15, libc::SIGXFSZ] {
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

fn the_library_is_loaded() {
    let workspace = Workspace::new();
    let probe = workspace.probe();
    assert_eq!(printed(&probe), LOADED);
    let without = output(&mut Command::new(&probe));
    assert_eq!(text(&without.stdout), "loaded 0\n", "the control");
    let script = workspace.file("script", format!("#!{}\n", probe.display()));
    assert_eq!(printed(&script), LOADED);
    let plain = workspace.file("plain", format!("{}\n", probe.display()));
    assert_eq!(printed(&plain), LOADED);
}

fn draws_are_counted_and_shown() {
    let source = "#include <sys/random.h>\nint main(int count, char **arguments) { char bytes[16]; (void)arguments; \
                  for (int i = 1; i < count; i++) getrandom(bytes, 16, 0); return 0; }";
    let workspace = Workspace::new();
    let program = workspace.program("draws", source, &[]);
    let status = format!("status --counters {}", workspace.path("counters").display());
    let mut command = run();
    command
        .current_dir(workspace.path(""))
        .args(["--counters", "counters", "--"])
        .arg(&program);
    assert!(output(&mut command).status.success());
    let nothing = "squall's libraries were loaded 1 time.\nNothing was counted.\n";
    assert_eq!(text(&bytes(&status)), nothing);
    // A second run replaces the first one's counters.
    assert!(
        output(command.args(["1", "2", "3", "4", "5"]))
            .status
            .success()
    );
    let expected = "\
squall's libraries were loaded 1 time.

interface           requests     bytes    left to kernel
getrandom                  5      80 B                 0
";
    assert_eq!(text(&bytes(&status)), expected);
    let shown: Value = serde_json::from_slice(&bytes(&format!("{status} --json"))).expect("JSON");
    assert_eq!(shown["loads"], 1);
    let interfaces = shown["interfaces"].as_array().expect("a list");
    assert_eq!(interfaces.len(), Interface::ALL.len());
    let drawn = json!({ "interface": "getrandom", "requests": 5, "bytes": 80, "forwarded": 0 });
    assert_eq!(interfaces[0], drawn);
}

fn only_counters_are_replaced() {
    let workspace = Workspace::new();
    let file = workspace.path("file");
    fs::write(&file, "what was there").unwrap();
    let replaced = output(run().arg("--counters").arg(&file).arg("true"));
    refused(
        &replaced,
        2,
        &["is not a counter file that can be replaced"],
    );
    assert_eq!(fs::read(&file).unwrap(), b"what was there");
    let output = output(run().args(["--counters", "/nonexistent/file", "true"]));
    refused(&output, 2, &["there is no folder /nonexistent\n"]);
}

fn libraries_preloaded_before_stay() {
    let workspace = Workspace::new();
    let shared = ["-shared", "-fPIC"];
    let source = "int getpagesize(void) { return 42; }";
    let other = workspace.program("other.so", source, &shared);
    let library = artifacts::preload().display().to_string();
    let shown = "echo $LD_PRELOAD; getconf PAGESIZE";
    let preloaded = |before: &str| {
        let mut command = run();
        command.env("LD_PRELOAD", before);
        text(&output(command.args(["--", "sh", "-c", shown])).stdout)
    };
    let others = other.display();
    assert!(preloaded("").starts_with(&format!("{library}\n")));
    let both = format!("{library}:{others}\n");
    assert!(preloaded(&others.to_string()).starts_with(&both));
    assert!(preloaded(&format!("{others} {library}")).starts_with(&both));
}

pub const TESTS: &[Test] = tests![
    exit_codes_and_signals,
    the_process_stays_the_same,
    arguments_and_names,
    signals_and_descriptors,
    a_closed_pipe_ends_the_program,
    the_library_is_loaded,
    draws_are_counted_and_shown,
    only_counters_are_replaced,
    libraries_preloaded_before_stay,
];
