//! Programs that are linked differently: statically, with optimisation across crates, as a shared library, and with
//! two definitions of `getrandom`. They are in `programs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use squall_binding_base::counters::Interface;
use squall_testing::artifacts;
use squall_testing::needs::{STATIC_LIBC, TEST_ALL};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::{counted, said, succeeded};

pub const TESTS: &[Test] = tests![
    a_static_program_is_reached_with_the_flag: [TEST_ALL, STATIC_LIBC],
    an_optimised_program_is_reached: [TEST_ALL],
    a_shared_library_is_not_reached_and_knows_it: [TEST_ALL],
    of_two_crates_that_define_getrandom_squalls_serves: [TEST_ALL],
    a_second_definition_in_an_object_is_refused_by_the_linker: [TEST_ALL],
];

/// The flag with which the crate `getrandom` calls the function directly.
const DIRECTLY: &str = "--cfg getrandom_backend=\"linux_getrandom\"";

/// The target folder of programs that are built without flags.
const PLAIN: &str = "plain";

/// What the program `draws` draws by each of three crates, in bytes.
const DRAWN: u64 = 16;

/// cargo's command `command` for the programs, with these flags for the compiler, in a target folder of this name.
fn cargo(command: &str, target: &str, flags: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"))
        .args([command, "--quiet", "--locked"])
        .env("CARGO_TARGET_DIR", folder(target))
        .env("RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo
}

fn folder(target: &str) -> PathBuf {
    artifacts::target().join("getrandom-programs").join(target)
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

/// What a program prints.
#[track_caller]
fn printed(program: &mut Command) -> String {
    said(program.env_remove("LD_PRELOAD")).trim().to_owned()
}

/// What a program prints, and how many bytes squall serves to it.
#[track_caller]
fn served(program: &Path) -> (String, u64) {
    let (printed, totals) = counted(Command::new(program).env_remove("LD_PRELOAD"));
    (
        printed.trim().to_owned(),
        totals.count(Interface::Getrandom).bytes,
    )
}

fn a_static_program_is_reached_with_the_flag() {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let served_with = |target: &str, flags: &str| {
        let flags = format!("{flags} -C target-feature=+crt-static");
        succeeded(cargo("build", target, &flags).args(["--bin=draws", "--target", &triple]));
        served(&folder(target).join(&triple).join("debug/draws"))
    };
    assert_eq!(
        served_with("static", DIRECTLY),
        ("true".to_owned(), 3 * DRAWN)
    );
    // The control: without the flag, only the standard library is reached.
    assert_eq!(
        served_with("static-control", ""),
        ("false".to_owned(), DRAWN)
    );
}

/// Neither optimisation across crates nor the linker leaves the function out.
fn an_optimised_program_is_reached() {
    let mut build = cargo("build", "optimised", "-C link-arg=-Wl,--gc-sections");
    build
        .args(["--release", "--bin=draws"])
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_STRIP", "true");
    succeeded(&mut build);
    let program = folder("optimised").join("release/draws");
    assert_eq!(served(&program), ("true".to_owned(), 3 * DRAWN));
}

fn a_shared_library_is_not_reached_and_knows_it() {
    succeeded(cargo("build", PLAIN, "").args(["--lib", "--bin=host"]));
    let programs = folder(PLAIN).join("debug");
    let plugin = programs.join("libplugin.so");
    assert_eq!(
        printed(Command::new(programs.join("host")).arg(plugin)),
        "false"
    );
}

/// Whatever the order of the crates, the second definition never serves: the linker takes squall's, or it refuses the
/// program.
fn of_two_crates_that_define_getrandom_squalls_serves() {
    let build = |order: &[&str]| {
        let mut build = cargo("build", "two", "");
        build.arg("--bin=two").args(order);
        build.output().expect("cargo runs")
    };
    let mut program = Command::new(folder("two").join("debug/two"));
    for order in ["--features=squall_first", "--features=squall_last"] {
        let built = build(&[order]);
        if built.status.success() {
            assert_eq!(printed(&mut program), "another", "{order}");
        } else {
            assert_names_both_definitions(&text(&built.stderr));
        }
    }
    // The control: alone, the second definition serves.
    assert!(build(&[]).status.success());
    assert_eq!(printed(&mut program), "second");
}

fn a_second_definition_in_an_object_is_refused_by_the_linker() {
    let folder = tempfile::tempdir().expect("a folder");
    let second = folder.path().join("second.o");
    let source = folder.path().join("second.c");
    std::fs::write(&source, "long getrandom(void) { return -1; }\n").expect("a file");
    succeeded(
        Command::new("cc")
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(&second),
    );
    let link = |object: Option<&Path>| {
        let mut build = cargo("rustc", PLAIN, "");
        build.args(["--bin=draws", "--"]);
        if let Some(object) = object {
            build.arg(format!("-Clink-arg={}", object.display()));
        }
        build.output().expect("cargo runs")
    };
    // The control: with one definition it is linked.
    let once = link(None);
    assert!(once.status.success(), "{}", text(&once.stderr));
    let twice = link(Some(&second));
    assert!(!twice.status.success());
    assert_names_both_definitions(&text(&twice.stderr));
}

/// In the words of one of the linkers.
#[track_caller]
fn assert_names_both_definitions(errors: &str) {
    let messages = [
        "multiple definition of `getrandom'",
        "duplicate symbol: getrandom",
    ];
    assert!(
        messages.iter().any(|message| errors.contains(message)),
        "{errors}"
    );
}
