//! Runs `squall-lab reset` with the scenarios go, programs and sandbox: clones of a Go program, of unmodified
//! programs, and of interpreters, on a real machine.

use std::process::Command;

use serde_json::Value;
use squall_guests::emulator::{jar, library};
use squall_guests::needs::{C_COMPILER, INTERPRETERS, MACHINES, NGINX};
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use crate::common::{Workspace, source, turn};

pub const TESTS: &[Test] = tests![
    clones_of_a_go_program_repeat_only_what_it_buffers: [GO_MODULE, MACHINES],
    clones_of_programs_repeat_only_output_that_squall_did_not_serve: [C_COMPILER, NGINX, MACHINES],
    clones_of_interpreters_repeat_only_their_own_generators: [INTERPRETERS, MACHINES],
];

/// A Go that is recent enough for the program.
pub const GO_MODULE: Need = Need {
    check: || {
        let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../../go");
        let mut look = Command::new("go");
        look.args(["list", "-m"]).current_dir(module);
        let looked = look.env("GOTOOLCHAIN", "local").output();
        let found = looked.is_ok_and(|output| output.status.success());
        found
            .then_some(())
            .ok_or_else(|| "install Go 1.26 or later (https://go.dev/dl)".into())
    },
    required_by: NOTHING,
};

fn clones_of_a_go_program_repeat_only_what_it_buffers() {
    let _turn = turn();
    let workspace = Workspace::new();
    let (printed, report) = workspace.report("reset --scenario go --machine 6.12+vmgenid --runs 3");
    let experiment = &report["experiments"][0];
    assert_eq!(experiment["mode"], "go");
    assert_eq!(experiment["runs"], 3);
    let naive = &source(&report, "go_naive", 1001)["repeats"];
    assert_eq!(naive["machines_with_repeats"], 3, "{naive}");
    assert!(naive["repeated_outputs"].as_u64() > Some(1000), "{naive}");
    let squall = source(&report, "go_squall", 1001);
    assert_eq!(squall["repeats"]["repeated_words"], 0, "{squall}");
    assert_eq!(squall["window"]["clones_without_notice"], 0, "{squall}");
    let words = source(&report, "go_squall_words", 1001);
    assert_eq!(words["repeats"]["repeated_words"], 0, "{words}");
    source(&report, "go_crypto_rand", 1001);

    // This tests squall's own state, not the kernel's, on a machine that is notified of clones late.
    let status = &experiment["facts"]["status"];
    assert_eq!(status["clone_guard"], "vmgenid", "{status}");
    assert_ne!(status["engine"], "none", "{status}");

    workspace.has_written("reset-go", &printed, "| go_squall ");
}

/// How many requests squall counted at `interface` after every source was asked once.
fn served(facts: &Value, interface: &str) -> Option<u64> {
    let interfaces = facts["served"]["interfaces"].as_array()?;
    let found = interfaces
        .iter()
        .find(|entry| entry["interface"] == interface)?;
    found["requests"].as_u64()
}

fn clones_of_programs_repeat_only_output_that_squall_did_not_serve() {
    let _turn = turn();
    let workspace = Workspace::new();
    // Build the libraries now, so that building them is not part of the run's time.
    for package in ["squall-preload", "squall-openssl"] {
        library(package).expect("squall's libraries");
    }
    let (printed, report) =
        workspace.report("reset --scenario programs --machine 6.12+vmgenid --runs 3");
    let experiment = &report["experiments"][0];
    assert_eq!(experiment["mode"], "programs");
    assert_eq!(experiment["runs"], 3);
    for (control, outputs) in [("preloaded_naive", 1000), ("nginx_openssl", 200)] {
        let repeats = &source(&report, control, outputs)["repeats"];
        assert_eq!(repeats["machines_with_repeats"], 3, "{repeats}");
        assert!(
            repeats["repeated_outputs"].as_u64() > Some(100),
            "{repeats}"
        );
    }
    for (guarded, outputs, interface) in [
        ("preloaded_getrandom", 1000, "getrandom"),
        ("preloaded_arc4random", 1000, "arc4random"),
        ("preloaded_device", 1000, "device"),
        ("nginx_squall", 200, "openssl"),
    ] {
        let found = source(&report, guarded, outputs);
        assert_eq!(found["repeats"]["repeated_words"], 0, "{found}");
        assert_eq!(found["window"]["clones_without_notice"], 0, "{found}");
        let facts = &experiment["facts"];
        assert!(served(facts, interface) > Some(0), "{interface}: {facts}");
    }
    source(&report, "libc_kernel", 1000);

    workspace.has_written("reset-programs", &printed, "| nginx_squall ");
}

fn clones_of_interpreters_repeat_only_their_own_generators() {
    let _turn = turn();
    let workspace = Workspace::new();
    jar().expect("squall for Java");
    for package in ["squall-python", "squall-node", "squall-openssl"] {
        library(package).expect("squall's packages");
    }
    let (printed, report) =
        workspace.report("reset --scenario sandbox --machine 6.12+vmgenid --runs 2");
    assert_eq!(report["experiments"][0]["mode"], "sandbox");
    for (stock, with_squall) in [
        ("python_random", "python_random_squall"),
        ("numpy_random", "numpy_random_squall"),
        ("numpy_default_rng", "numpy_default_rng_squall"),
        ("node_random_uuid", "node_random_uuid_squall"),
        ("node_random_bytes", "node_random_bytes_squall"),
        ("node_math_random", "node_math_random_squall"),
        ("python_openssl", "python_openssl_squall"),
        ("java_drbg", "java_drbg_squall"),
    ] {
        let repeats = &source(&report, stock, 800)["repeats"];
        assert_eq!(repeats["machines_with_repeats"], 2, "{repeats}");
        let repeats = &source(&report, with_squall, 800)["repeats"];
        assert_eq!(repeats["repeated_words"], 0, "{repeats}");
    }
    for with_squall in ["java_secure_random_squall", "java_random_uuid_squall"] {
        let repeats = &source(&report, with_squall, 200)["repeats"];
        assert_eq!(repeats["repeated_words"], 0, "{repeats}");
    }
    // Its generation is the clone generation that Python sees.
    let uuids = source(&report, "python_uuid4_squall", 800);
    assert_eq!(uuids["repeats"]["repeated_words"], 0, "{uuids}");
    assert_eq!(uuids["window"]["clones_without_notice"], 0, "{uuids}");

    workspace.has_written("reset-sandbox", &printed, "| node_random_uuid ");
}
