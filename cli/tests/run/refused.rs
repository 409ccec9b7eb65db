//! `squall run` refuses programs that a preloaded library does not reach.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_testing::needs::{GO, STATIC_LIBC, STATIC_PIE, TEST_ALL};
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;
use squall_testing::workspace::copy_program;

use super::workspace::{PROBE_SOURCE, Workspace, output, run};
use crate::common::{refused, text};

fn run_program(program: &Path) -> Output {
    output(run().arg("--").arg(program))
}

fn static_programs() {
    let workspace = Workspace::new();
    let program = workspace.program("static", PROBE_SOURCE, &["-static"]);
    let advice = ["linked statically", "libsquall.a"];
    refused(&run_program(&program), 2, &advice);
    let script = workspace.file("script", format!("#!{}\n", program.display()));
    let shown = format!("{} (which runs {})", program.display(), script.display());
    refused(&run_program(&script), 2, &[&shown, "linked statically"]);
}

fn position_independent_static_programs() {
    let workspace = Workspace::new();
    let program = workspace.program("static-pie", PROBE_SOURCE, &["-static-pie"]);
    refused(
        &run_program(&program),
        2,
        &["linked statically", "libsquall.a"],
    );
}

fn programs_in_go() {
    let workspace = Workspace::new();
    fs::write(workspace.path("a.go"), "package main\nfunc main() {}\n").unwrap();
    let mut go = Command::new("go");
    go.current_dir(workspace.path(""))
        .env("GOFLAGS", "-mod=mod");
    go.env("GOCACHE", workspace.path("cache"))
        .args(["build", "-o", "go", "a.go"]);
    let built = output(&mut go);
    assert!(built.status.success(), "{}", text(&built.stderr));
    let advice = ["a program in Go", "github.com/squall-rng/squall/go"];
    refused(&run_program(&workspace.path("go")), 2, &advice);
}

fn other_loaders() {
    let workspace = Workspace::new();
    let musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    let program = workspace.program("musl", PROBE_SOURCE, &[musl]);
    refused(
        &run_program(&program),
        2,
        &["/lib/ld-musl-x86_64.so.1", "glibc"],
    );
}

/// The path of glibc's loader.
const GLIBC_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

const HAS_GLIBC_LOADER: Need = Need {
    check: || {
        let exists = Path::new(GLIBC_LOADER).exists();
        exists
            .then_some(())
            .ok_or_else(|| format!("there is no {GLIBC_LOADER}"))
    },
    required_by: NOTHING,
};

/// The control for other loaders: glibc's loader at another path.
fn glibcs_loader_at_another_path() {
    let workspace = Workspace::new();
    let loader = workspace.path("ld-linux-x86-64.so.2");
    let option = format!("-Wl,--dynamic-linker={}", loader.display());
    copy_program(Path::new(GLIBC_LOADER), &loader);
    let moved = workspace.program("moved", PROBE_SOURCE, &[&option]);
    assert!(run_program(&moved).status.success());
}

fn other_machines() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let mut bytes = fs::read(&program).unwrap();
    // e_machine: AArch64's number, or x86-64's if this machine is AArch64.
    let other = if bytes[18] == 183 { 62 } else { 183 };
    bytes[18] = other;
    let foreign = workspace.file("foreign", &bytes);
    refused(
        &run_program(&foreign),
        2,
        &["another kind of CPU", &other.to_string()],
    );
    // A 32-bit header for i386 with nothing after it.
    let mut header = vec![0; 52];
    header[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    (header[16], header[18], header[20], header[40]) = (2, 3, 1, 52);
    let narrow = workspace.file("narrow", &header);
    refused(&run_program(&narrow), 2, &["32 bits", "64 bits"]);
}

/// The C library of this process, which exports functions of the same names.
fn libc_path() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    path.map(PathBuf::from)
        .find(|path| path.file_name().is_some_and(|name| name == "libc.so.6"))
        .expect("a C library")
}

fn files_that_are_not_the_library_are_refused() {
    let workspace = Workspace::new();
    let with = |library: &Path| {
        let mut command = crate::common::squall("run --library");
        output(command.arg(library).args(["--", "true"]))
    };
    refused(
        &with(&workspace.path("missing")),
        2,
        &["--library", "is not a file"],
    );
    let text = workspace.file("text", "text");
    let provider = squall_testing::artifacts::provider();
    for other in [text, provider, libc_path()] {
        refused(
            &with(&other),
            2,
            &["is not the expected library", "libsquall-preload.so"],
        );
    }
    for name in ["a b.so", "a:b.so", "$LIB.so"] {
        let copy = workspace.path(name);
        fs::copy(super::workspace::library(), &copy).unwrap();
        refused(
            &with(&copy),
            2,
            &[name, "LD_PRELOAD cannot hold", "--library"],
        );
    }
}

fn unknown_options_are_refused() {
    for (option, hint) in [
        ("--couters", "did you mean --counters?"),
        ("--couters=x", "did you mean --counters?"),
        ("--zz", "see squall run --help, or give the program's path"),
    ] {
        let output = output(run().args([option, "x", "--", "true"]));
        refused(&output, 2, &[&format!("no option {option:?}: {hint}")]);
    }
}

fn a_refused_program_leaves_counters_alone() {
    let workspace = Workspace::new();
    let program = workspace.program("static", PROBE_SOURCE, &["-static"]);
    let file = workspace.path("counters");
    let mut command = run();
    let output = output(command.arg("--counters").arg(&file).arg("--").arg(program));
    refused(&output, 2, &["linked statically"]);
    assert!(!file.exists());
}

pub const TESTS: &[Test] = tests![
    static_programs: [STATIC_LIBC],
    position_independent_static_programs: [STATIC_PIE],
    programs_in_go: [TEST_ALL, GO],
    other_loaders,
    glibcs_loader_at_another_path: [HAS_GLIBC_LOADER],
    other_machines,
    files_that_are_not_the_library_are_refused,
    unknown_options_are_refused,
    a_refused_program_leaves_counters_alone: [STATIC_LIBC],
];
