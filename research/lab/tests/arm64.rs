//! The guards, the preload library, the provider, the command and the Go module on real kernels of arm64, with
//! pages of 4, 16 and 64 KiB; and resets of such machines, which have nothing that notifies of a clone: only what
//! squall makes of the cycle counter and the CPU's random instruction keeps their clones apart.

use std::path::{Path, PathBuf};
use std::time::Duration;

use squall_guests::commands::contains;
use squall_guests::debian::KernelName;
use squall_guests::emulator::{
    Artifact, c_program_for_arm64, compile_for_arm64, go_tests_for_arm64,
};
use squall_guests::fixture::required;
use squall_guests::needs::{ARM64, ARM64_64K};
use squall_lab::arm64::GuestRunner;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tool_base::Interrupt;

use crate::clones::repeats;
use crate::common::{Workspace, complaint, turn};
use crate::programs::GO_MODULE;

pub const TESTS: &[Test] = tests![
    guards_of_linux_6_12: [ARM64],
    guards_of_linux_6_12_with_large_pages: [ARM64],
    guards_of_linux_6_12_with_64k_pages: [ARM64, ARM64_64K],
    guards_of_the_newest_linux: [ARM64],
    guards_of_the_newest_linux_with_large_pages: [ARM64],
    programs_of_the_newest_linux_with_large_pages: [ARM64],
    preload_suite_of_linux_6_12: [ARM64],
    preload_suite_of_the_newest_linux_with_large_pages: [ARM64],
    go_of_linux_6_12: [ARM64, GO_MODULE],
    go_of_the_newest_linux_with_large_pages: [ARM64, GO_MODULE],
    clones_repeat_only_without_guards: [ARM64],
    scenarios_of_x86_64_are_refused: [ARM64],
];

/// All cases of a kernel take minutes, and many more on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The only reasons for which a case may be ignored: arm64, QEMU's CPU or its machine lacks them.
const LACKING: [&str; 4] = [
    "no such instructions",
    "no trap flag",
    "no instruction reads the CPU's number",
    "no hypervisor announces itself",
];

fn runner(kernel: KernelName) -> GuestRunner {
    let interrupt = required(Interrupt::watch("the machine is ended"));
    required(GuestRunner::open(kernel, interrupt, TIMEOUT))
}

/// Builds a C program of the guests.
fn c_program(runner: &GuestRunner, name: &str) -> PathBuf {
    let path = runner.host.file(name);
    required(c_program_for_arm64(name, &path));
    path
}

/// Tests the guards. In a time namespace the vDSO's data is at another place: there it tests that squall finds
/// the kernel's generation.
const GUARDS: &str = r#"
/guards --color never || failed=1
[ "$(/in_time_namespace cut -d . -f 1 /proc/uptime)" -gt 86400 ] || failed=1
/in_time_namespace /guards --color never reseed/seen-by || failed=1
[ -z "$failed" ]
"#;

fn guards(kernel: KernelName) {
    let _turn = turn();
    let runner = runner(kernel);
    let guards = required(Artifact::Test("squall", "guards", "testing").build());
    let in_time_namespace = c_program(&runner, "in_time_namespace");
    let files: [(&str, &Path); 2] = [
        ("guards", &guards),
        ("in_time_namespace", &in_time_namespace),
    ];
    let console = required(runner.run(&files, GUARDS));
    let lines = console.lines();
    for line in lines.filter(|line| line.contains("... ignored")) {
        let is_known = LACKING.iter().any(|reason| line.contains(reason));
        assert!(is_known, "{line}");
    }
    assert_eq!(console.matches("test result: ok. ").count(), 2);
}

fn guards_of_linux_6_12() {
    guards(KernelName::Arm64V6_12);
}

fn guards_of_linux_6_12_with_large_pages() {
    guards(KernelName::Arm64V6_12Pages16K);
}

fn guards_of_linux_6_12_with_64k_pages() {
    guards(KernelName::Arm64V6_12Pages64K);
}

fn guards_of_the_newest_linux() {
    guards(KernelName::Arm64Newest);
}

fn guards_of_the_newest_linux_with_large_pages() {
    guards(KernelName::Arm64NewestPages16K);
}

/// Draws by the preload library, by OpenSSL's provider and by the command, and checks the counters of what
/// squall served.
const INTERFACES: &str = r#"
set -e
served() { squall status --json --counters "$2" | tr -d ' \n' | grep -q "\"interface\":\"$1\",\"requests\":[1-9]"; }
for asked in g=getrandom a=arc4random d=device n=getrandom; do
    letter=${asked%=*}
    [ "$(printf $letter$letter | squall run --counters /tmp/drawn-$letter -- draws | wc -c)" = 128 ]
    served ${asked#*=} /tmp/drawn-$letter
done
squall openssl-conf > /tmp/squall.cnf
export OPENSSL_CONF=/tmp/squall.cnf
[ "$(squall run --counters /tmp/provided -- openssl rand 32 | wc -c)" = 32 ]
served openssl /tmp/provided
[ "$(squall stream --size 1000 | wc -c)" = 1000 ]
echo all programs served
"#;

fn programs_of_the_newest_linux_with_large_pages() {
    let _turn = turn();
    let runner = runner(KernelName::Arm64NewestPages16K);
    let squall = required(Artifact::Program("squall-cli", "squall").build());
    let draws = c_program(&runner, "draws");
    let preload = required(Artifact::Library("squall-preload").build());
    let provider = required(Artifact::Library("squall-openssl").build());
    let files: [(&str, &Path); 4] = [
        ("usr/bin/squall", &squall),
        ("usr/bin/draws", &draws),
        ("usr/lib/libsquall-preload.so", &preload),
        ("usr/lib/ossl-modules/squall.so", &provider),
    ];
    let console = required(runner.run(&files, INTERFACES));
    contains(&console, &["all programs served"]);
}

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
    ("forbidden", &[]),
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
        let path = runner.host.file(&key);
        required(compile_for_arm64(&source, &options, &path));
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

/// Runs the preload library's own suite, which runs C programs with the library and without. A guest has no
/// compiler, and the library is not installed there. So the programs are built before; a script in place of `cc`
/// copies them, and one in place of `scripts/install.sh` does nothing.
fn preload_suite(kernel: KernelName) {
    let _turn = turn();
    let runner = runner(kernel);
    let suite = Artifact::Test("squall-preload", "integration", "");
    let suite = required(suite.build());
    let preload = required(Artifact::Library("squall-preload").build());
    let programs = programs(&runner);
    let (compiler, root) = (runner.host.file("cc"), runner.host.file("root"));
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
    let console = required(runner.run(&files, SUITE));
    let mut ignored = console.lines().filter(|line| line.contains("... ignored"));
    assert!(ignored.all(|line| line.contains("nm is not installed")));
    contains(&console, &["test result: ok. "]);
}

fn preload_suite_of_linux_6_12() {
    preload_suite(KernelName::Arm64V6_12);
}

fn preload_suite_of_the_newest_linux_with_large_pages() {
    preload_suite(KernelName::Arm64NewestPages16K);
}

/// Runs the tests of the Go module, and prints what they say, but for the names of those that passed.
const GO: &str = r#"
for tests in guard generator module; do
    echo "Go: $tests"
    SQUALL_DROPS=8192 /$tests -test.v -test.skip Compiled > output 2>&1 || failed=1
    grep -v -e '=== ' -e '--- PASS' output
done
[ -z "$failed" ]
"#;

/// The only reasons for which a test of the Go module may be skipped: arm64 or QEMU's machine lacks them.
const LACKING_IN_GO: [&str; 2] = [
    "it lacks a counter that tells of its CPU, or a random instruction",
    "it lacks a vmgenid",
];

/// Tests the Go module as programs use it, and its guards, each with its control.
fn go(kernel: KernelName) {
    let _turn = turn();
    let runner = runner(kernel);
    let [guard, generator, module] = [
        ("./internal/guard", "guard"),
        ("./internal/generator", "generator"),
        (".", "module"),
    ]
    .map(|(package, name)| {
        let path = runner.host.file(name);
        required(go_tests_for_arm64(package, &path));
        path
    });
    let files: [(&str, &Path); 3] = [
        ("guard", &guard),
        ("generator", &generator),
        ("module", &module),
    ];
    let console = required(runner.run(&files, GO));
    let count = |text| console.matches(text).count();
    assert_eq!(
        count("--- SKIP"),
        LACKING_IN_GO.into_iter().map(count).sum::<usize>(),
        "a test is skipped for another reason: {}",
        console
    );
    // Controls in which a guard was off, and the trial failed.
    assert!(count(": without: ") > 15, "{}", console);
}

fn go_of_linux_6_12() {
    go(KernelName::Arm64V6_12);
}

fn go_of_the_newest_linux_with_large_pages() {
    go(KernelName::Arm64NewestPages16K);
}

/// Clones of a machine.
const CLONES: u64 = 4;

/// With the random instruction and without, with pages of 4 and 16 KiB.
const MACHINES: [&str; 2] = ["6.12-arm64", "newest-arm64-16k+rndr"];

fn clones_repeat_only_without_guards() {
    let _turn = turn();
    let mut repeats_without_pads = 0;
    for machine in MACHINES {
        for (scenario, guarded, controls) in [
            (
                "ticks",
                &["squall", "squall_words", "squall_no_signal"][..],
                &["naive", "squall_unguarded"][..],
            ),
            ("threads", &["squall"], &["squall_unguarded"]),
        ] {
            let (_, report) = Workspace::new().report(&format!(
                "reset --machine {machine} --scenario {scenario} --runs {CLONES} --timeout 1200"
            ));
            let status = &report["experiments"][0]["facts"]["status"];
            assert_eq!(status["clone_guard"], "no-signal");
            for source in guarded {
                assert_eq!(repeats(&report, source), (0, 0), "{machine}: {source}");
            }
            for control in controls {
                let (words, clones) = repeats(&report, control);
                assert!(words > 0, "{machine}: {control}");
                assert_eq!(clones, CLONES, "{machine}: {control}");
            }
            repeats_without_pads += repeats(&report, "squall_signal_only").0;
        }
    }
    // The control for pads. A clone whose kernel reseeds before its first request repeats nothing.
    assert!(repeats_without_pads > 0);
}

fn scenarios_of_x86_64_are_refused() {
    let workspace = Workspace::new();
    for (arguments, reason) in [
        ("--scenario go", "does not run the scenario go"),
        ("--accelerator kvm", "is always emulated"),
    ] {
        let arguments = format!("reset --machine 6.12-arm64 {arguments}");
        let output = workspace.lab(&arguments).output().expect("the lab runs");
        contains(&complaint(&output, 2), &["6.12-arm64", reason]);
    }
}
