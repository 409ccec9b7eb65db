//! Runs the examples of the library, and unmodified programs with squall; and looks at what builds leave.

mod leavings;
mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use squall_testing::suite::{self, Test};
use squall_testing::tests;

fn main() -> ExitCode {
    suite::main(&[TESTS, leavings::TESTS, programs::TESTS])
}

pub const TESTS: &[Test] = tests![every_example_of_the_library_ends_well];

fn every_example_of_the_library_ends_well() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../squall/examples");
    let sources = std::fs::read_dir(sources).expect("the examples");
    let names = sources.map(|entry| {
        let path = entry.expect("an example").path();
        path.file_stem().expect("a name").to_owned()
    });
    let programs: Vec<PathBuf> = names.map(|name| built_examples().join(name)).collect();
    assert!(programs.len() >= 6);
    for program in programs {
        assert!(
            program.exists(),
            "{program:?} is missing: run cargo build -p squall --examples"
        );
        let mut command = Command::new(&program);
        if program.ends_with("simulation") {
            command.arg("1000");
        }
        let output = command.output().expect("it runs");
        let is_silent = output.stdout.is_empty();
        assert!(
            output.status.success() && !is_silent,
            "{program:?}: {output:?}"
        );
    }
}

/// The folder of built examples, two levels above this program.
fn built_examples() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let folder = program.ancestors().nth(2).expect("the target folder");
    folder.join("examples")
}
