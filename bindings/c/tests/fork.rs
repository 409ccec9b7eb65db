//! After a fork, parent and child draw different bytes. The control is a stream, which continues with
//! the same bytes in both.

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{Linked, PKG_CONFIG, Program, succeed, text};

fn a_child_never_repeats_its_parent() {
    for linked in [Linked::Dynamic, Linked::FullyStatic] {
        let program = Program::of("tests/c/fork.c", linked);
        let repeats = |from: &str| {
            let output = text(&succeed(program.command().arg(from)).stdout);
            let [parent, child] = output.lines().collect::<Vec<_>>()[..] else {
                panic!("{from}: {output}");
            };
            assert_eq!(parent.len(), 64);
            parent == child
        };
        for from in ["fill", "u64", "uniform", "arc4random"] {
            assert!(!repeats(from), "{from}, {linked:?}");
        }
        assert!(repeats("stream"), "the control, {linked:?}");
    }
}

pub const TESTS: &[Test] = tests![
    a_child_never_repeats_its_parent: [PKG_CONFIG],
];
