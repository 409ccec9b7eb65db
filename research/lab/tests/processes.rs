//! Runs `squall-lab processes`: checkpoints of programs are restored a few times by each tool.

use std::process::Command;

use squall_guests::commands::contains;
use squall_guests::debian::Cache;
use squall_guests::fixture::message;
use squall_guests::needs::{C_COMPILER, CRIU, NGINX};
use squall_testing::needs::{PYTHON, ROOT};
use squall_testing::suite::{NOTHING, Need, Test, command};
use squall_testing::tests;
use squall_testing::workspace::said;

use crate::common::{complaint, lab};
use crate::programs::GO_MODULE;

pub const TESTS: &[Test] = tests![
    copies_by_criu_share_only_what_controls_share: [ROOT, NGINX, C_COMPILER, DROPPABLE, CRIU],
    copies_by_gvisor_share_only_what_controls_share: [ROOT, NGINX, C_COMPILER, GVISOR],
    copies_in_other_languages_share_only_what_controls_share: [ROOT, NGINX, PYTHON, GO_MODULE, NODE, CRIU, GVISOR],
    what_is_missing_or_wrong_is_named,
];

const GVISOR: Need = Need {
    check: || {
        let gvisor = Cache::open(None).and_then(|cache| cache.checkpointer("gvisor"));
        let runsc = gvisor.map_err(message)?.place.join("usr/bin/runsc");
        let mut run = Command::new(runsc);
        run.args([
            "--network=none",
            "--platform=systrap",
            "--ignore-cgroups",
            "do",
            "true",
        ]);
        let ran = run.output().is_ok_and(|output| output.status.success());
        ran.then_some(())
            .ok_or_else(|| "gVisor cannot run here".to_owned())
    },
    required_by: NOTHING,
};

/// Droppable memory, which CRIU 4.2 restores empty.
const DROPPABLE: Need = Need {
    check: || {
        let has = squall::status().memory == squall::MemoryKind::Droppable;
        has.then_some(())
            .ok_or_else(|| "the kernel has no droppable memory".to_owned())
    },
    required_by: NOTHING,
};

const NODE: Need = Need {
    check: || command("node"),
    required_by: NOTHING,
};

/// Runs the command, which fails if a claim does not hold or a control does not repeat.
#[track_caller]
fn hold(tools: &[&str], programs: &[&str]) {
    let mut run = lab("processes --restores 6");
    for (option, values) in [("--tool", tools), ("--program", programs)] {
        run.args(values.iter().flat_map(|value| [option, value]));
    }
    let report = said(&mut run);
    for tool in tools {
        for program in programs {
            contains(&report, &[&format!("| {tool} | {program} |")]);
        }
    }
}

fn copies_by_criu_share_only_what_controls_share() {
    let guarded = [
        "rust-this-machine",
        "rust-not-a-vm",
        "rust-not-a-vm-wipe-on-fork",
        "rust-no-signal-wipe-on-fork",
        "c",
        "preload",
        "openssl-provider",
    ];
    let controls = [
        "rust-unguarded",
        "rust-not-a-vm-frozen-tick",
        "libc",
        "libc-arc4random",
        "openssl",
    ];
    hold(
        &["criu-4.1", "criu-4.2"],
        &[&guarded[..], &controls].concat(),
    );
}

fn copies_by_gvisor_share_only_what_controls_share() {
    let programs = [
        "rust-this-machine",
        "rust-unguarded",
        "c",
        "preload",
        "openssl-provider",
        "openssl",
    ];
    hold(&["gvisor"], &programs);
}

fn copies_in_other_languages_share_only_what_controls_share() {
    let programs = [
        "python-preload",
        "python-random",
        "go",
        "go-crypto-rand",
        "node",
        "node-crypto",
    ];
    hold(&["criu-4.1", "gvisor"], &programs);
}

fn what_is_missing_or_wrong_is_named() {
    let fails = |arguments: &str, code| {
        let output = lab(arguments).output().expect("the command runs");
        complaint(&output, code)
    };
    let missing = fails("processes --tool criu-4.2 --cache /nowhere", 1);
    contains(
        &missing,
        &["/nowhere/criu-4.2: ", "run `scripts/lab-deps.sh criu-4.2`"],
    );
    contains(&fails("processes --program perl", 2), &["perl"]);
    contains(&fails("processes --restores 5", 2), &["5"]);
}
