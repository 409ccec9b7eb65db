//! The installed library: its symbols, its names, its pkg-config file, and how programs load and unload it. It prepares
//! threads before `main`, also in a statically linked program and with any build profile of the archive: a linker takes
//! only those members of an archive that something refers to.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use squall_testing::artifacts;
use squall_testing::needs::TEST_ALL;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::{said, succeeded};

use crate::compile::{Linked, PKG_CONFIG, Program, libraries, pkg_config, source_path};

fn library() -> PathBuf {
    artifacts::prefix().join("lib/libsquall.so")
}

/// The output of `program` about the installed library.
fn inspect_library(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).arg(library());
    said(&mut command)
}

fn only_the_functions_are_exported() {
    let committed = std::fs::read_to_string(source_path("symbols.txt")).expect("symbols.txt");
    let listed = inspect_library("nm", &["-D", "--defined-only", "--format=posix"]);
    let mut exported: Vec<&str> = listed
        .lines()
        .map(|line| {
            let (name, rest) = line.split_once(' ').expect("a name and a type");
            // Code (T) only: no data and no thread-local variables.
            assert!(rest.starts_with("T "), "{line}");
            name
        })
        .collect();
    exported.sort_unstable();
    let committed: Vec<&str> = committed.lines().collect();
    assert_eq!(
        exported, committed,
        "left: the symbols of libsquall.so, right: bindings/c/symbols.txt; add a new symbol to \
         that file; a removed symbol needs a new soname"
    );
}

fn the_header_has_the_same_functions() {
    let header = std::fs::read_to_string(source_path("include/squall.h")).expect("the header");
    let is_code = |line: &&str| !line.trim_start().starts_with(['*', '/', '#']);
    let mut declared: Vec<&str> = header
        .lines()
        .filter(is_code)
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("squall_"))
        .collect();
    declared.sort_unstable();
    let symbols = std::fs::read_to_string(source_path("symbols.txt")).expect("symbols.txt");
    assert_eq!(declared, symbols.lines().collect::<Vec<_>>());
}

fn the_soname_has_the_major_version() {
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let dynamic = inspect_library("readelf", &["--dynamic", "--wide"]);
    let soname = format!("Library soname: [libsquall.so.{major}]");
    assert!(dynamic.contains(&soname), "{dynamic}");
    let libraries = artifacts::prefix().join("lib");
    let links = |name: &str| std::fs::read_link(libraries.join(name)).expect("a link");
    let versioned = concat!("libsquall.so.", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        links(&format!("libsquall.so.{major}")),
        Path::new(versioned)
    );
    assert!(library().exists());
}

fn pkg_config_finds_the_library() {
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let prefix = artifacts::prefix().display();
    assert_eq!(pkg_config(&["--cflags"]), [format!("-I{prefix}/include")]);
    assert_eq!(
        pkg_config(&["--libs"]),
        [format!("-L{prefix}/lib"), "-lsquall".to_owned()]
    );
}

/// Other builds of the archive: a profile's name, and Cargo configuration for it.
const BUILDS: [(&str, &[&str]); 3] = [
    ("dev", &["profile.dev.incremental=true"]),
    ("release", &[]),
    (
        "whole",
        &[
            "profile.whole.inherits='release'",
            "profile.whole.lto='fat'",
        ],
    ),
];

fn a_first_draw_allocates_nothing() {
    check_program(&Program::of(PREPARED, Linked::Dynamic), "a shared library");
    check_program(&Program::of(PREPARED, Linked::Static), "an archive");
}

fn a_first_draw_allocates_nothing_with_any_profile() {
    for (profile, configuration) in BUILDS {
        let archive = build(profile, configuration);
        let flags = libraries(Linked::Static)
            .into_iter()
            .map(|flag| match flag.as_str() {
                "-l:libsquall.a" => archive.display().to_string(),
                _ => flag,
            });
        check_program(&Program::with(PREPARED, flags), profile);
    }
}

const PREPARED: &str = "tests/c/prepared.c";

fn check_program(program: &Program, library: &str) {
    let exit_code = |command: &mut Command| command.output().expect("it starts").status.code();
    assert_eq!(exit_code(&mut program.command()), Some(0), "{library}");
    let control = exit_code(program.command().arg("before"));
    assert_eq!(control, Some(1), "the control, {library}");
}

/// Builds the archive with this profile in a target directory of its own.
fn build(profile: &str, configuration: &[&str]) -> PathBuf {
    let target = artifacts::target().join("archives");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["rustc", "--quiet", "--lib", "--crate-type", "staticlib"])
        .args(["--package", env!("CARGO_PKG_NAME"), "--profile", profile])
        .args(configuration.iter().flat_map(|value| ["--config", value]))
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("CARGO_INCREMENTAL")
        .env_remove("RUSTFLAGS");
    succeeded(&mut cargo);
    let folder = if profile == "dev" { "debug" } else { profile };
    target.join(folder).join("libsquall_c.a")
}

/// DT_FLAGS_1 and its DF_1_NODELETE (`man 5 elf`, glibc's elf.h).
const FLAGS_1: u64 = 0x6fff_fffb;
const NODELETE: u64 = 8;

/// A copy of the library without the NODELETE flag, so that dlclose(3) unloads it.
fn without_nodelete(mut library: Vec<u8>) -> Vec<u8> {
    let word = |at: usize| u64::from_ne_bytes(library[at..][..8].try_into().expect("a word"));
    // An entry of the dynamic section: its tag, and a value that fits 32 bits.
    let is_entry = |at: &usize| word(*at) == FLAGS_1 && word(at + 8) < 1 << 32;
    let offsets: Vec<usize> = (0..library.len() - 15)
        .step_by(8)
        .filter(is_entry)
        .collect();
    let [offset] = offsets[..] else {
        panic!("flags at {offsets:?}");
    };
    let flags = word(offset + 8);
    assert_ne!(flags & NODELETE, 0);
    library[offset + 8..][..8].copy_from_slice(&(flags & !NODELETE).to_ne_bytes());
    library
}

fn a_thread_ends_after_the_library_was_unloaded() {
    let program = Program::of("tests/c/unloaded.c", Linked::Dynamic);
    let unnamed = program.command().output().expect("it starts");
    assert_eq!(unnamed.status.code(), Some(2), "without a library");
    let contents = std::fs::read(library()).expect("the library");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write_copy = |name: &str, contents: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).expect("a copy");
        path
    };
    // Load copies, because the program itself is linked with the installed library.
    let kept: Vec<_> = (0..20)
        .map(|copy| write_copy(&format!("kept{copy}.so"), &contents))
        .collect();
    // More than the loader's reserve for variables of threads has room for.
    succeeded(program.command().args(kept));
    let gone = write_copy("gone.so", &without_nodelete(contents));
    let crashed = program.command().arg(gone).output().expect("it starts");
    assert_eq!(
        crashed.status.signal(),
        Some(libc::SIGSEGV),
        "the control: {crashed:?}"
    );
}

pub const TESTS: &[Test] = tests![
    only_the_functions_are_exported,
    the_header_has_the_same_functions,
    the_soname_has_the_major_version,
    pkg_config_finds_the_library: [PKG_CONFIG],
    a_first_draw_allocates_nothing: [PKG_CONFIG],
    a_first_draw_allocates_nothing_with_any_profile: [PKG_CONFIG, TEST_ALL],
    a_thread_ends_after_the_library_was_unloaded: [PKG_CONFIG],
];
