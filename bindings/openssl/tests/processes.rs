//! Threads, forks and sandboxes: no bytes come twice, and without a source of randomness there are none.

use std::collections::HashSet;

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::workspace::{MODULES, OPENSSL, Workspace, module, run};

fn threads_draw_different_bytes() {
    for workspace in [Workspace::replacing(), Workspace::seeding()] {
        let draws = workspace.run("rand", &["threads"]);
        assert_eq!(draws.lines().count(), 8 * 3 * 3000);
        assert_eq!(repeats(&draws), 0);
    }
}

fn children_of_a_fork_draw_different_bytes() {
    for workspace in [Workspace::replacing(), Workspace::seeding()] {
        let draws = workspace.run("rand", &["forks"]);
        assert!(draws.lines().count() > 9000);
        assert_eq!(repeats(&draws), 0);
    }
}

/// The control: OpenSSL does nothing about a fork for its providers.
fn children_of_a_provider_without_guards_repeat() {
    let workspace = Workspace::control();
    assert_eq!(repeats(&workspace.run("rand", &["threads"])), 0);
    assert!(repeats(&workspace.run("rand", &["forks"])) > 1000);
}

fn repeats(draws: &str) -> usize {
    let different: HashSet<&str> = draws.lines().collect();
    draws.lines().count() - different.len()
}

/// Fresh bytes come from the kernel. If it refuses, OpenSSL gets an error and the program goes on.
fn without_a_source_fresh_requests_fail() {
    /// The program's exit code if the kernel reseeded meanwhile.
    const KERNEL_RESEEDED: i32 = 77;
    let workspace = Workspace::unused();
    for when in ["late", "early"] {
        let mut command = workspace.command(module("generator"));
        command.arg(&*MODULES).arg(when);
        let output = (0..5)
            .map(|_| run(&mut command))
            .find(|output| output.status.code() != Some(KERNEL_RESEEDED))
            .expect("the kernel reseeds once a minute");
        assert!(output.status.success(), "{when}: {output:?}");
    }
}

pub const TESTS: &[Test] = tests![
    threads_draw_different_bytes: [OPENSSL],
    children_of_a_fork_draw_different_bytes: [OPENSSL],
    children_of_a_provider_without_guards_repeat: [OPENSSL],
    without_a_source_fresh_requests_fail: [OPENSSL],
];
