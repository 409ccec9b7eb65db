//! `squall run` refuses programs that a preloaded library does not reach, and gives the exit codes of env(1) and nohup(1)
//! for programs that are missing or cannot be executed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_testing::artifacts;
use squall_testing::needs::{GO, ROOT, SETCAP, SETPRIV, STATIC_LIBC, STATIC_PIE, TEST_ALL};
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;
use squall_testing::workspace::copy_program;

use super::{LOADED, PROBE, Workspace, output, printed, run};
use crate::common::{refused, squall, text};

fn run_program(program: impl AsRef<Path>) -> Output {
    output(run().arg("--").arg(program.as_ref()))
}

/// Fails unless the program is refused because the library cannot reach it, for this reason.
#[track_caller]
fn not_reached(program: &Path, parts: &[&str]) {
    refused(
        &run_program(program),
        2,
        &[&["cannot reach it: "], parts].concat(),
    );
}

fn static_programs() {
    let workspace = Workspace::new();
    let program = workspace.program("static", PROBE, &["-static"]);
    let file = workspace.path("counters");
    let mut command = run();
    let output = output(command.arg("--counters").arg(&file).arg("--").arg(program));
    refused(&output, 2, &["linked statically", "libsquall.a"]);
    assert!(!file.exists(), "nothing has run");
}

fn position_independent_static_programs() {
    let program = Workspace::new();
    let program = program.program("static-pie", PROBE, &["-static-pie"]);
    not_reached(&program, &["linked statically", "libsquall.a"]);
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
    not_reached(
        &workspace.path("go"),
        &["a program in Go", "github.com/squall-rng/squall/go"],
    );
}

fn other_loaders() {
    let musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    let workspace = Workspace::new();
    not_reached(&workspace.program("musl", PROBE, &[musl]), &["glibc"]);
}

/// The path of glibc's loader.
const GLIBC_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

const HAS_GLIBC_LOADER: Need = Need {
    check: || {
        let exists = Path::new(GLIBC_LOADER).exists();
        let lacks = || format!("there is no {GLIBC_LOADER}");
        exists.then_some(()).ok_or_else(lacks)
    },
    required_by: NOTHING,
};

/// The control for other loaders: glibc's loader at another path.
fn glibcs_loader_at_another_path() {
    let workspace = Workspace::new();
    let loader = workspace.path("ld-linux-x86-64.so.2");
    let option = format!("-Wl,--dynamic-linker={}", loader.display());
    copy_program(Path::new(GLIBC_LOADER), &loader);
    let moved = workspace.program("moved", PROBE, &[&option]);
    assert!(run_program(&moved).status.success());
}

fn other_machines() {
    let workspace = Workspace::new();
    let mut bytes = fs::read(workspace.probe()).unwrap();
    // e_machine: AArch64's number, or x86-64's if this machine is AArch64.
    bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
    not_reached(&workspace.file("foreign", &bytes), &["another kind of CPU"]);
    // A 32-bit header for i386 with nothing after it.
    let mut header = vec![0; 52];
    header[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    (header[16], header[18], header[20], header[40]) = (2, 3, 1, 52);
    not_reached(&workspace.file("narrow", &header), &["32 bits"]);
}

fn set_id_bits() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let set_mode =
        |mode| fs::set_permissions(&program, Permissions::from_mode(mode)).expect("it is ours");
    for mode in [0o4755, 0o2755, 0o6755] {
        set_mode(mode);
        not_reached(
            &program,
            &["set-user-ID", "the loader may ignore LD_PRELOAD"],
        );
    }
    set_mode(0o1755);
    assert_eq!(printed(&program), LOADED, "the control");
}

fn file_capabilities() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let setcap = |argument| {
        let set = output(Command::new("setcap").arg(argument).arg(&program));
        assert!(set.status.success(), "{}", text(&set.stderr));
    };
    setcap("cap_net_raw+ep");
    not_reached(
        &program,
        &["capabilities", "the loader may ignore LD_PRELOAD"],
    );
    setcap("-r");
    assert_eq!(printed(&program), LOADED, "the control");
}

/// Callers who may execute a program and not read it, and those whose effective ids are not the real ones.
fn callers_with_other_rights() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let command = copy_program(
        Path::new(env!("CARGO_BIN_EXE_squall")),
        &workspace.path("squall"),
    );
    let library = copy_program(
        &artifacts::preload(),
        &workspace.path("libsquall-preload.so"),
    );
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours")
    };
    set_mode(&workspace.path(""), 0o755);
    let run_by = |caller: &[&str], mode| {
        set_mode(&program, mode);
        let mut setpriv = Command::new("setpriv");
        setpriv.args(caller).arg("--clear-groups").arg(&command);
        setpriv.args(["run", "--library"]).arg(&library);
        output(setpriv.arg("--").arg(&program))
    };
    let nobody = ["--reuid=65534", "--regid=65534"];
    assert_eq!(text(&run_by(&nobody, 0o755).stdout), LOADED, "the control");
    for mode in [0o711, 0o4711] {
        refused(&run_by(&nobody, mode), 2, &["may not read", "cannot reach"]);
    }
    for caller in ["--euid=65534", "--rgid=65534"] {
        refused(
            &run_by(&[caller], 0o755),
            2,
            &["effective ids", "setpriv(1)"],
        );
    }
}

/// The C library of this process, which exports functions of the same names.
fn libc_path() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let mut paths = paths.map(PathBuf::from);
    paths
        .find(|path| path.ends_with("libc.so.6"))
        .expect("a C library")
}

fn files_that_are_not_the_library_are_refused() {
    let workspace = Workspace::new();
    let with = |library: &Path| output(squall("run --library").arg(library).args(["--", "true"]));
    let missing = with(&workspace.path("missing"));
    refused(&missing, 2, &["--library", "is not a file"]);
    for other in [
        workspace.file("text", "text"),
        artifacts::provider(),
        libc_path(),
    ] {
        refused(
            &with(&other),
            2,
            &["is not the expected library", "libsquall-preload.so"],
        );
    }
    for name in ["a b.so", "a:b.so", "$LIB.so"] {
        let copy = workspace.path(name);
        fs::copy(artifacts::preload(), &copy).unwrap();
        refused(
            &with(&copy),
            2,
            &[name, "LD_PRELOAD cannot hold", "--library"],
        );
    }
}

fn missing_arguments_and_unknown_options() {
    refused(&output(&mut run()), 2, &["PROGRAM"]);
    for (option, hint) in [
        ("--couters", "did you mean --counters?"),
        ("--couters=x", "did you mean --counters?"),
        ("--zz", "see squall run --help, or give the program's path"),
    ] {
        let output = output(run().args([option, "x", "--", "true"]));
        refused(&output, 2, &[&format!("no option {option:?}: {hint}")]);
    }
}

/// As it may come from a machine with another Python, or with lines that end as on Windows.
fn a_missing_interpreter_is_named() {
    let workspace = Workspace::new();
    for (line, interpreter) in [
        ("#! /nonexistent/python -E", "\"/nonexistent/python\""),
        ("#!/bin/sh\r", "\"/bin/sh\\r\""),
    ] {
        let script = workspace.file("script", format!("{line}\necho ran\n"));
        let shown = script.display().to_string();
        let why = format!("its first line names {interpreter}, and there is no such interpreter");
        refused(&run_program(&script), 127, &[&shown, &why]);
    }
}

fn exit_codes_are_those_of_env() {
    let workspace = Workspace::new();
    let forbidden = workspace.file("forbidden", "");
    fs::set_permissions(&forbidden, Permissions::from_mode(0o644)).expect("it is ours");
    let lost = workspace.file("lost", "#!/nonexistent/interpreter\n");
    for (name, code) in [
        (Path::new("no-such-program"), 127),
        (&workspace.path("missing"), 127),
        (&workspace.path(""), 126),
        (&forbidden, 126),
        (&lost, 127),
    ] {
        refused(&run_program(name), code, &[&name.display().to_string()]);
        let by_env = output(Command::new("env").arg(name));
        assert_eq!(by_env.status.code(), Some(code), "env {name:?}");
    }
    let path = "/nonexistent:/also-not";
    let missing = output(run().args(["--", "missing"]).env("PATH", path));
    refused(&missing, 127, &["missing: no such program", path]);
}

pub const TESTS: &[Test] = tests![
    static_programs: [STATIC_LIBC],
    position_independent_static_programs: [STATIC_PIE],
    programs_in_go: [TEST_ALL, GO],
    other_loaders,
    glibcs_loader_at_another_path: [HAS_GLIBC_LOADER],
    other_machines,
    set_id_bits,
    file_capabilities: [ROOT, SETCAP],
    callers_with_other_rights: [ROOT, SETPRIV],
    files_that_are_not_the_library_are_refused,
    missing_arguments_and_unknown_options,
    a_missing_interpreter_is_named,
    exit_codes_are_those_of_env,
];
