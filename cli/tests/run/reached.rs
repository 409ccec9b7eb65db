//! Programs that draw from squall, as its counters show.

use std::fs;

use squall_bindings::counters::{self, Interface};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{LOADED, Workspace, output, printed, run};
use crate::common::text;

fn the_library_is_loaded() {
    let workspace = Workspace::new();
    let probe = workspace.probe();
    assert_eq!(printed(&probe), LOADED);
    let without = output(&mut std::process::Command::new(&probe));
    assert_eq!(text(&without.stdout), "secure 0 loaded 0\n", "the control");
}

fn draws_are_counted_and_shown() {
    let source = "#include <sys/random.h>\nint main(void) { char bytes[16]; \
                  for (int i = 0; i < 5; i++) getrandom(bytes, 16, 0); return 0; }";
    let workspace = Workspace::new();
    let program = workspace.program("draws", source, &[]);
    let mut command = run();
    command.current_dir(workspace.path(""));
    command.args(["--counters", "counters", "--"]).arg(&program);
    // A second run replaces the first one's counters.
    for _ in 0..2 {
        assert!(output(&mut command).status.success());
    }
    let totals = counters::read(&workspace.path("counters")).unwrap();
    assert_eq!(totals.loads, 1);
    let drawn = totals.count(Interface::Getrandom);
    assert_eq!((drawn.requests, drawn.bytes, drawn.forwarded), (5, 80, 0));
    let mut show = crate::common::squall("status --counters");
    let shown = text(&output(show.arg(workspace.path("counters"))).stdout);
    assert!(
        shown.contains("getrandom                  5      80 B"),
        "{shown}"
    );
}

fn only_counters_are_replaced() {
    let workspace = Workspace::new();
    fs::write(workspace.path("file"), "what was there").unwrap();
    let mut command = run();
    command
        .args(["--counters"])
        .arg(workspace.path("file"))
        .arg("true");
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("is not a counter file that can be replaced"),
        "{message}"
    );
    assert_eq!(fs::read(workspace.path("file")).unwrap(), b"what was there");
}

fn scripts_are_reached_through_their_interpreters() {
    let workspace = Workspace::new();
    let probe = workspace.probe();
    let probe = probe.display();
    let direct = workspace.file("direct", format!("#!{probe}\n"));
    assert_eq!(printed(&direct), LOADED);
    let by_env = workspace.file("by env", format!("#!/usr/bin/env {probe}\n"));
    assert_eq!(printed(&by_env), LOADED);
    let by_shell = workspace.file("by shell", format!("#! /bin/sh -e\n{probe}\n"));
    assert_eq!(printed(&by_shell), LOADED);
    let plain = workspace.file("plain", format!("{probe}\n"));
    assert_eq!(printed(&plain), LOADED);
    let mut last = direct;
    for depth in 2..=5 {
        last = workspace.file(&format!("d{depth}"), format!("#!{}\n", last.display()));
        assert_eq!(printed(&last), LOADED, "{depth}");
    }
}

fn libraries_preloaded_before_stay() {
    let workspace = Workspace::new();
    let shared = ["-shared", "-fPIC"];
    let source = "int getpagesize(void) { return 42; }";
    let other = workspace.program("other.so", source, &shared);
    let library = super::workspace::library().display().to_string();
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
    the_library_is_loaded,
    draws_are_counted_and_shown,
    only_counters_are_replaced,
    scripts_are_reached_through_their_interpreters,
    libraries_preloaded_before_stay,
];
