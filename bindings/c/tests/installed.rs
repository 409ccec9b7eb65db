//! The installed library: its symbols, its names, and its pkg-config file.

use std::path::{Path, PathBuf};
use std::process::Command;

use squall_testing::artifacts;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{PKG_CONFIG, pkg_config, source_path, succeed, text};

pub fn library() -> PathBuf {
    artifacts::prefix().join("lib/libsquall.so")
}

/// The output of `program` about the installed library.
fn inspect_library(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).arg(library());
    text(&succeed(&mut command).stdout)
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

pub const TESTS: &[Test] = tests![
    only_the_functions_are_exported,
    the_header_has_the_same_functions,
    the_soname_has_the_major_version,
    pkg_config_finds_the_library: [PKG_CONFIG],
];
