//! Forks, sandboxes and small stacks with the preloaded library, and what it exports.

use std::process::Command;

use squall::Engine;
use squall_binding_base::counters::Interface;
use squall_testing::artifacts;
use squall_testing::needs::NM;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::counted;

use crate::Program;

fn no_block_comes_twice_in_a_storm_of_forks() {
    let program = Program::compile("forks", &[]);
    let preloaded = program.run_preloaded(&[]);
    assert!(preloaded.status.success(), "{preloaded:?}");
    assert_eq!(preloaded.output, "repeats none\n");
    for interface in ["getrandom", "getentropy", "device"] {
        let (served, forwarded) = preloaded.counted(interface);
        assert!(served > 5000 && forwarded == 0, "{preloaded:?}");
    }
    // The control: a naive generator's repeats are found.
    let naive = Program::compile("forks", &["-DNAIVE"]);
    for run in [naive.run_plain(&[]), naive.run_preloaded(&[])] {
        assert!(run.status.success(), "{run:?}");
        assert_eq!(run.output, "repeats some\n");
    }
}

/// The control for sandboxes: a sandbox that the library does not notice, entered before the first draw,
/// ends the program at that draw.
fn an_unnoticed_sandbox_kills_at_the_first_draw() {
    use std::os::unix::process::ExitStatusExt;
    const SIGSYS: i32 = 31;
    let program = Program::compile("sandbox", &[]);
    let plain = program.run_plain(&["unnoticed"]);
    assert!(plain.status.success(), "{plain:?}");
    let preloaded = program.run_preloaded(&["unnoticed"]);
    assert_eq!(preloaded.status.signal(), Some(SIGSYS), "{preloaded:?}");
}

/// How often the next test draws.
const DRAWS: u64 = 100;

fn fresh_draws() {
    let mut bytes = [0; 16];
    for _ in 0..DRAWS {
        squall::try_fill_fresh(&mut bytes).expect("bytes");
    }
}

/// In a preloaded program, squall as a crate seeds from the kernel, and not from the library's state.
fn the_squall_crate_in_a_program_seeds_from_the_kernel() {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program
        .args(["--exact", "protections::fresh_draws"])
        .env("LD_PRELOAD", artifacts::preload());
    let (output, totals) = counted(&mut program);
    assert!(output.contains("1 passed"), "{output}");
    // The standard library's requests for its hash tables are served here.
    let served = totals.count(Interface::Getrandom).requests;
    assert!(totals.loads == 1 && served < DRAWS / 2, "{totals:?}");
}

/// The library uses no more stack than its documentation says, in bytes.
fn the_stack_stays_within_the_documented_size() {
    // What a draw takes more on some CPUs. Without AES instructions ChaCha20 serves, which takes more with
    // debug assertions.
    let more = match Engine::best_aes() {
        Engine::Portable if cfg!(debug_assertions) => 8192,
        _ if cfg!(target_arch = "aarch64") => 2048,
        _ => 0,
    };
    let program = Program::compile("stack", &[]);
    let run = program.run_preloaded(&[]);
    assert!(run.status.success(), "{run:?}");
    let mut lines = run.output.lines().filter_map(|line| line.split_once(' '));
    for (what, most) in [
        ("process", 6144 + more),
        ("later", 4096 + more),
        ("device", 4096 + more),
        ("frame", usize::MAX),
        ("thread", 4096 + more),
        ("later", 4096 + more),
        ("device", 4096 + more),
    ] {
        let (name, taken) = lines.next().expect("a line");
        assert_eq!(name, what);
        let taken: usize = taken.parse().expect("a number");
        assert!(taken <= most, "{what}: {taken}");
    }
    assert!(
        run.output.ends_with("smallest thread: drawn\n"),
        "{}",
        run.output
    );
}

/// And a marker symbol.
fn only_the_replaced_functions_are_exported() {
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only"]).arg(artifacts::preload());
    let output = nm.output().expect("nm runs");
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).expect("text");
    let name = |line: &str| line.rsplit(' ').next().map(str::to_owned);
    let mut exported: Vec<String> = output.lines().filter_map(name).collect();
    exported.sort_unstable();
    let is_here = |name: &&str| match *name {
        "arch_prctl" => cfg!(target_arch = "x86_64"),
        "__clone" | "clone" | "syscall" => {
            cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
        }
        _ => true,
    };
    let listed = include_str!("../symbols.txt").lines().filter(is_here);
    let listed: Vec<_> = listed.collect();
    assert_eq!(exported, listed);
}

pub const TESTS: &[Test] = tests![
    no_block_comes_twice_in_a_storm_of_forks,
    an_unnoticed_sandbox_kills_at_the_first_draw,
    fresh_draws,
    the_squall_crate_in_a_program_seeds_from_the_kernel,
    the_stack_stays_within_the_documented_size,
    only_the_replaced_functions_are_exported: [NM],
];
