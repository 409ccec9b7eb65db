//! Programs that are linked differently: statically with the custom backend, and with two definitions of
//! `getrandom`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_bindings::counters::{self, Door};
use squall_testing::doors;
use squall_testing::needs::{STATIC_LIBC, TEST_ALL};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_static_program_is_reached_by_the_custom_backend: [TEST_ALL, STATIC_LIBC],
    a_second_definition_in_an_object_is_refused_by_the_linker: [TEST_ALL],
];

/// cargo for the program in `static_program`, a workspace of its own, with these flags for the compiler.
fn cargo(flags: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/static_program"))
        .env("CARGO_TARGET_DIR", target())
        .env("RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo
}

fn target() -> PathBuf {
    doors::target().join("static_program")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn a_static_program_is_reached_by_the_custom_backend() {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let flags = "--cfg getrandom_backend=\"custom\" -C target-feature=+crt-static";
    let built = cargo(flags)
        .args(["build", "--quiet", "--locked", "--target", &triple])
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", text(&built));
    let program = target().join(triple).join("debug/static_program");
    assert_eq!(requests_of(&program), 2);
}

/// How many requests squall serves in a program that draws by two crates.
fn requests_of(program: &Path) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    counters::create(&file).expect("counters");
    let run = Command::new(program)
        .env(counters::VARIABLE, &file)
        .env_remove("LD_PRELOAD")
        .output()
        .expect("it runs");
    assert!(run.status.success() && run.stdout.len() > 60, "{run:?}");
    let totals = counters::read(&file).expect("counters");
    totals.of(Door::Getrandom).requests
}

fn a_second_definition_in_an_object_is_refused_by_the_linker() {
    let folder = tempfile::tempdir().expect("a folder");
    let second = folder.path().join("second.o");
    let source = folder.path().join("second.c");
    std::fs::write(&source, "long getrandom(void) { return -1; }\n").expect("a file");
    let compiled = Command::new("cc")
        .arg("-c")
        .arg(&source)
        .arg("-o")
        .arg(&second)
        .status();
    assert!(compiled.expect("cc runs").success());
    let link = |object: Option<&Path>| {
        let mut build = cargo("");
        build.args(["rustc", "--quiet", "--locked", "--"]);
        if let Some(object) = object {
            build.arg(format!("-Clink-arg={}", object.display()));
        }
        build.output().expect("cargo runs")
    };
    // The control: with one definition it is linked.
    let once = link(None);
    assert!(once.status.success(), "{}", text(&once));
    let twice = link(Some(&second));
    let errors = text(&twice);
    assert!(!twice.status.success(), "{errors}");
    let is_named = [
        "multiple definition of `getrandom'",
        "duplicate symbol: getrandom",
    ]
    .iter()
    .any(|message| errors.contains(message));
    assert!(is_named, "{errors}");
}
