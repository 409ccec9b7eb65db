//! While the kernel's random number generator is not ready, a preloaded program gets the same errors
//! and waits the same way as without squall.

use std::fs;
use std::path::Path;
use std::process::Command;

use squall_binding_base::counters::{self, Interface};
use squall_guests::emulator::library;
use squall_guests::{Guest, Setup};

use squall_guests::fixture::{Workspace, ok};
use squall_guests::needs::{C_COMPILER, GUESTS};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_preloaded_program_gets_the_kernels_answers: [C_COMPILER, GUESTS],
];

/// The program's output before the kernel is ready, and after.
const UNREADY: &str = "\
nonblock: -1, Resource temporarily unavailable
nonblock, random: -1, Resource temporarily unavailable
insecure: 32
by number: -1, Resource temporarily unavailable
device: -1, Resource temporarily unavailable
";
const READY: &str = "\
wait: 32
nonblock: 32
nonblock, random: 32
insecure: 32
by number: 32
device: 32
";

/// Compiles the program and returns its bytes.
fn program(path: &Path) -> Vec<u8> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/early_draws.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", source, "-o"]);
    let output = compiler.arg(path).output().expect("a compiler");
    assert!(output.status.success(), "{output:?}");
    fs::read(path).expect("a program")
}

fn a_preloaded_program_gets_the_kernels_answers() {
    let workspace = Workspace::emulated();
    let program = program(&workspace.path("draws"));
    let preload = library("squall-preload").expect("squall's library");
    let preload = fs::read(preload).expect("a library");
    let setup = Setup {
        command_line: "random.trust_cpu=off random.trust_bootloader=off",
        // The kernel credits each CPU's interrupts with a bit per second.
        cpus: 1,
        ..Setup::default()
    };
    let mut guest = workspace.factory.boot(&setup).expect("a guest");
    guest.write_file("/tmp/draws", &program).expect("a file");
    guest
        .write_file("/tmp/preload.so", &preload)
        .expect("a file");
    ok(&mut guest, "chmod +x /tmp/draws");

    // The runs without squall show that the kernel was not ready before and after.
    assert_eq!(ok(&mut guest, "/tmp/draws"), UNREADY);
    let left_to_the_kernel = (UNREADY.to_owned(), [(0, 4), (0, 1)]);
    assert_eq!(preloaded(&workspace, &mut guest, ""), left_to_the_kernel);
    assert_eq!(ok(&mut guest, "/tmp/draws"), UNREADY);

    // The first request goes to the kernel, which waits; then the kernel is ready.
    let served = (READY.to_owned(), [(4, 1), (1, 0)]);
    assert_eq!(preloaded(&workspace, &mut guest, "wait"), served);
    assert_eq!(ok(&mut guest, "/tmp/draws wait"), READY);
}

/// The output of the preloaded program, and the numbers of requests that were served and left to the
/// kernel, for getrandom and for the device.
fn preloaded(
    workspace: &Workspace,
    guest: &mut Guest,
    argument: &str,
) -> (String, [(u64, u64); 2]) {
    let here = workspace.path("counters");
    counters::create(&here).expect("a file");
    let zeros = fs::read(&here).expect("counters");
    guest.write_file("/tmp/counters", &zeros).expect("a file");
    let command = "SQUALL_COUNTERS=/tmp/counters LD_PRELOAD=/tmp/preload.so /tmp/draws";
    let output = ok(guest, &format!("{command} {argument}"));
    let counted = guest.read_file("/tmp/counters").expect("a file");
    fs::write(&here, counted).expect("a file");
    let totals = counters::read(&here).expect("counters");
    assert_eq!(totals.loads, 1);
    let counts = [Interface::Getrandom, Interface::Device].map(|interface| totals.count(interface));
    (
        output,
        counts.map(|count| (count.requests, count.forwarded)),
    )
}
