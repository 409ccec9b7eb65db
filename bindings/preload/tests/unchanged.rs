//! A program prints the same with and without the library, and the counters agree with the number of
//! requests that it reports.

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::{Program, Run};

/// Runs the program both ways, compares the outputs, and checks the counters.
#[track_caller]
fn assert_same(program: &Program, arguments: &[&str]) {
    let plain = program.run_plain(arguments);
    let preloaded = program.run_preloaded(arguments);
    assert!(plain.status.success(), "{plain:?}");
    assert_eq!(preloaded.status, plain.status, "{preloaded:?}");
    for (after, before) in preloaded.output.lines().zip(plain.output.lines()) {
        assert_eq!(after, before);
    }
    assert_eq!(preloaded.output, plain.output);
    assert_counted(&preloaded);
}

/// Compares the counters with the counts that the program printed.
#[track_caller]
fn assert_counted(run: &Run) {
    let mut lines = 0;
    for line in run.output.lines() {
        let Some(expected) = line.strip_prefix("counted ") else {
            continue;
        };
        lines += 1;
        let words: Vec<_> = expected.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match words[..] {
            ["at", "least", interface, served] => {
                let (counted, _) = run.counted(interface);
                assert!(counted >= number(served), "{line}: {counted}");
            }
            [interface, served, forwarded] => {
                assert_eq!(
                    run.counted(interface),
                    (number(served), number(forwarded)),
                    "{line}"
                );
            }
            _ => panic!("{line}"),
        }
    }
    assert!(
        lines > 0,
        "the program must print the expected counts: {}",
        run.output
    );
}

fn calls() {
    assert_same(&Program::compile("calls", &[]), &[]);
    assert_same(&Program::compile("calls", &["-DBY_NUMBER"]), &[]);
}

fn system_calls_by_number() {
    assert_same(&Program::compile("numbered", &[]), &[]);
}

/// The C library's functions that notice overflows.
const FORTIFIED: [&str; 3] = ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"];

fn reads() {
    assert_same(&Program::compile("reads", &[]), &[]);
    assert_same(&Program::compile("reads", &FORTIFIED), &[]);
}

fn reused_descriptors() {
    assert_same(&Program::compile("numbers", &[]), &[]);
    assert_same(&Program::compile("numbers", &FORTIFIED), &[]);
}

fn children() {
    assert_same(&Program::compile("children", &[]), &[]);
}

fn draws_before_constructors() {
    assert_same(&Program::compile("early", &[]), &[]);
    assert_same(&Program::compile_with_library("constructed"), &[]);
}

fn draws_within_malloc() {
    for variant in [&[][..], &["-DDEVICE"], &["-DKEYS"]] {
        let options = [&["-fno-builtin"], variant].concat();
        assert_same(&Program::compile("allocator", &options), &[]);
    }
}

fn draws_in_signal_handlers() {
    assert_same(&Program::compile("storm", &[]), &[]);
}

fn cancellation_and_interruption() {
    assert_same(&Program::compile("cancel", &[]), &[]);
}

fn draws_in_a_sandbox() {
    let program = Program::compile("sandbox", &[]);
    for mode in [
        "refused", "narrow", "filter", "number", "option", "drawn", "strict", "other",
    ] {
        assert_same(&program, &[mode]);
    }
    for mode in ["filter", "number", "drawn"] {
        assert_same(&program, &["old", mode]);
    }
}

fn a_forbidden_instruction() {
    let program = Program::compile("forbidden", &[]);
    for what in ["tsc", "cpuid"] {
        assert_same(&program, &[what]);
        assert_same(&program, &[what, "number"]);
    }
}

/// A child that shares its parent's memory and thread pointer.
fn a_child_with_shared_thread_variables() {
    let program = Program::compile("shared", &[]);
    for way in ["clone", "__clone", "number"] {
        if way != "number" || cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert_same(&program, &[way]);
        }
    }
}

/// Another preloaded library, like fakeroot's, claims that every descriptor is a random device.
fn with_a_library_that_falsifies_fstat() {
    assert_same(&Program::compile_with_library("believed"), &[]);
}

/// A fortified program ends when it reads more than its buffer holds.
fn overflow_is_noticed() {
    let program = Program::compile("reads", &FORTIFIED);
    for way in ["read", "pread"] {
        let plain = program.run_plain(&[way]);
        let preloaded = program.run_preloaded(&[way]);
        assert!(!plain.status.success(), "{plain:?}");
        assert_eq!(preloaded.status, plain.status);
        assert_eq!(preloaded.output, plain.output);
    }
}

pub const TESTS: &[Test] = tests![
    calls,
    system_calls_by_number,
    reads,
    reused_descriptors,
    children,
    draws_before_constructors,
    draws_within_malloc,
    draws_in_signal_handlers,
    cancellation_and_interruption,
    draws_in_a_sandbox,
    a_forbidden_instruction,
    a_child_with_shared_thread_variables,
    with_a_library_that_falsifies_fstat,
    overflow_is_noticed,
];
