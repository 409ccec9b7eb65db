//! The preload library's own suite, which runs C programs with the library and without, in a guest.
//!
//! A guest has no compiler, and the library is not installed there. So the programs are built before; a
//! script in place of `cc` copies them, and one in place of `scripts/install.sh` does nothing.

use std::path::{Path, PathBuf};

use squall_guests::debian::KernelName;
use squall_lab::arm64::{Artifact, GuestRunner};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::{run, runner};
use crate::common::turn;
use squall_guests::commands::contains;
use squall_guests::fixture::required;
use squall_guests::needs::ARM64;

pub const TESTS: &[Test] = tests![
    suite_of_linux_6_12: [ARM64],
    suite_of_the_newest_linux_with_large_pages: [ARM64],
];

/// This repository, whose path is built into the suite.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Options of all programs, as in the suite (bindings/preload/tests/main.rs).
const OPTIONS: [&str; 6] = [
    "-O1",
    "-pthread",
    "-Wall",
    "-Wextra",
    "-Wno-nonnull",
    "-Wno-stringop-overflow",
];

const FORTIFIED: &[&str] = &["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"];

/// The suite's programs, each with the options that distinguish it from others of the same source.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("allocator", &["-fno-builtin"]),
    ("allocator", &["-fno-builtin", "-DDEVICE"]),
    ("allocator", &["-fno-builtin", "-DKEYS"]),
    ("calls", &[]),
    ("calls", &["-DBY_NUMBER"]),
    ("cancel", &[]),
    ("children", &[]),
    ("early", &[]),
    ("forks", &[]),
    ("forks", &["-DNAIVE"]),
    ("numbered", &[]),
    ("numbers", &[]),
    ("numbers", FORTIFIED),
    ("reads", &[]),
    ("reads", FORTIFIED),
    ("sandbox", &[]),
    ("shared", &[]),
    ("stack", &[]),
    ("storm", &[]),
];

/// Programs with a library of their own, of the same source, which the suite puts beside them.
const WITH_LIBRARY: [&str; 2] = ["constructed", "believed"];

/// Stands for `cc`: copies the program or library of this source and with these options.
const COMPILER: &str = r#"#!/bin/sh
name= options= output=
while [ $# -gt 0 ]; do
    case $1 in
    -o) output=$2; shift ;;
    -L | -l) shift ;;
    -O1 | -pthread | -W*) ;;
    *.c) name=$(basename "$1" .c) ;;
    *) options=$options$1 ;;
    esac
    shift
done
exec cp "/programs/$name$options" "$output"
"#;

/// Runs the suite in the folder of its package.
const SUITE: &str = r#"
root=$(cat /root-of-the-repository)
mkdir -p "$root/scripts" "$root/testing" "$root/bindings/preload"
printf '#!/bin/sh\n' > "$root/scripts/install.sh"
chmod +x "$root/scripts/install.sh"
cd "$root/bindings/preload" && CARGO_TARGET_DIR=/target /suite --color never --test-threads 2
"#;

/// Builds all programs, and returns the names under which [`COMPILER`] finds them.
fn programs(runner: &GuestRunner) -> Vec<(String, PathBuf)> {
    let folder = Path::new(ROOT).join("bindings/preload/tests/programs");
    let compile = |source: &str, options: &[&str], key: String| {
        let source = folder.join(format!("{source}.c"));
        let options = [&OPTIONS[..], options].concat();
        let path = runner.file(&key);
        required(runner.compile(&source, &options, &path));
        (format!("programs/{key}"), path)
    };
    let mut built: Vec<_> = PROGRAMS
        .iter()
        .map(|(name, options)| compile(name, options, format!("{name}{}", options.concat())))
        .collect();
    for name in WITH_LIBRARY {
        let options = ["-DLIBRARY", "-shared", "-fPIC"];
        let (_, path) = compile(name, &options, format!("lib{name}.so"));
        let folder = path.parent().expect("a folder").display();
        let folder = format!("-L{folder}");
        let beside = [&folder, "-Wl,-rpath,$ORIGIN", &format!("-l{name}")];
        built.push(compile(name, &beside, name.into()));
        built.push((format!("programs/{name}{}", options.concat()), path));
    }
    built
}

fn suite(kernel: KernelName) {
    let _turn = turn();
    let runner = runner(kernel);
    let suite = Artifact::Test("squall-preload", "integration", "");
    let suite = required(suite.build());
    let preload = required(Artifact::Library("squall-preload").build());
    let programs = programs(&runner);
    let (compiler, root) = (runner.file("cc"), runner.file("root"));
    std::fs::write(&compiler, COMPILER).expect("a file");
    let repository = Path::new(ROOT).canonicalize().expect("the repository");
    let repository = repository.to_str().expect("a path in UTF-8");
    std::fs::write(&root, repository).expect("a file");
    let library = "target/installed/test/lib/libsquall-preload.so";
    let mut files: Vec<(&str, &Path)> = vec![
        ("suite", &suite),
        (library, &preload),
        ("usr/bin/cc", &compiler),
        ("root-of-the-repository", &root),
    ];
    files.extend(programs.iter().map(|(name, path)| (&**name, &**path)));
    let output = run(&runner, &files, SUITE);
    let mut ignored = output
        .console
        .lines()
        .filter(|line| line.contains("... ignored"));
    assert!(ignored.all(|line| line.contains("nm is not installed")));
    contains(&output.console, &["test result: ok. "]);
}

fn suite_of_linux_6_12() {
    suite(KernelName::Arm64V6_12);
}

fn suite_of_the_newest_linux_with_large_pages() {
    suite(KernelName::Arm64NewestPages16K);
}
