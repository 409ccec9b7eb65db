//! The library counts its requests and bytes if the environment asks for it.

use squall_bindings::counters::{self, Interface};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{Linked, PKG_CONFIG, Program, succeed};

fn requests_and_bytes_are_counted() {
    for linked in [Linked::Dynamic, Linked::Static, Linked::FullyStatic] {
        let program = Program::of("tests/c/counted.c", linked);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("counters");
        succeed(program.command().env_remove(counters::VARIABLE));
        assert!(!path.exists());
        // The library makes the file.
        succeed(program.command().env(counters::VARIABLE, &path));
        let totals = counters::read(&path).expect("counters");
        let library = totals.count(Interface::Library);
        // 100 and 200 bytes, numbers of 4 and 8, and one below 2, for which no number is rejected.
        assert_eq!(totals.loads, 1, "{linked:?}");
        assert_eq!(
            (library.requests, library.bytes),
            (5, 100 + 200 + 4 + 8 + 8)
        );
        assert_eq!(library.forwarded, 0);
    }
}

pub const TESTS: &[Test] = tests![
    requests_and_bytes_are_counted: [PKG_CONFIG],
];
