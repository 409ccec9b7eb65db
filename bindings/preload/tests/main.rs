//! Runs C programs with and without libsquall-preload.so. They must print the same, and the counters
//! show whether the library served them.

mod protections;
mod unchanged;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use squall_binding_base::counters::{self, Interface, Totals};
use squall_testing::artifacts;
use squall_testing::compiler::compile;
use squall_testing::suite;
use tempfile::TempDir;

/// A compiled program of `tests/programs`.
struct Program {
    folder: TempDir,
    name: String,
}

/// The result of running a program.
#[derive(Debug)]
struct Run {
    output: String,
    status: ExitStatus,
    /// Requests that the library counted during the run.
    totals: Totals,
}

impl Program {
    /// Compiles `NAME.c` with additional compiler options.
    #[track_caller]
    fn compile(name: &str, options: &[&str]) -> Program {
        let program = Program::new(name);
        program.run_compiler(&program.path(), options);
        program
    }

    /// Compiles `NAME.c` as a shared library (`LIBRARY`), and as a program that is linked with it.
    #[track_caller]
    fn compile_with_library(name: &str) -> Program {
        let program = Program::new(name);
        let folder = program.folder.path().display().to_string();
        let library = program.folder.path().join(format!("lib{name}.so"));
        program.run_compiler(&library, &["-DLIBRARY", "-shared", "-fPIC"]);
        let rpath = format!("-Wl,-rpath,{folder}");
        program.run_compiler(&program.path(), &["-L", &folder, "-l", name, &rpath]);
        program
    }

    fn new(name: &str) -> Program {
        Program {
            folder: tempfile::tempdir().expect("a folder"),
            name: name.into(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    #[track_caller]
    fn run_compiler(&self, output: &Path, options: &[&str]) {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O1", "-pthread", "-Wall", "-Wextra", "-Werror"])
            // The tests pass null and negative arguments on purpose.
            .args(["-Wno-nonnull", "-Wno-stringop-overflow", "-o"])
            .arg(output)
            .arg(sources.join(format!("{}.c", self.name)))
            .args(options);
        compile(&mut compiler);
    }

    /// Runs the program without the library; nothing must be counted.
    #[track_caller]
    fn run_plain(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments, None);
        let none = run
            .totals
            .interfaces
            .iter()
            .all(|interface| interface.requests + interface.forwarded == 0);
        assert!(run.totals.loads == 0 && none, "{run:?}");
        run
    }

    /// Runs the program with the library preloaded.
    fn run_preloaded(&self, arguments: &[&str]) -> Run {
        self.run(arguments, Some(&artifacts::preload()))
    }

    fn run(&self, arguments: &[&str], preload: Option<&Path>) -> Run {
        let file = self.folder.path().join("counters");
        let _ = std::fs::remove_file(&file);
        // Otherwise the library makes the file.
        if preload.is_none() {
            counters::create(&file).expect("counters");
        }
        let mut command = Command::new(self.path());
        command
            .args(arguments)
            .env(counters::VARIABLE, &file)
            .env_remove("LD_PRELOAD");
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        let output = command.output().expect("the program can be run");
        Run {
            output: String::from_utf8(output.stdout).expect("text"),
            status: output.status,
            totals: counters::read(&file).expect("counters"),
        }
    }
}

impl Run {
    /// The counts for the function of this name: requests served, and requests left to the kernel.
    #[track_caller]
    fn counted(&self, name: &str) -> (u64, u64) {
        let interface = Interface::ALL
            .into_iter()
            .find(|interface| interface.name() == name);
        let total = self.totals.count(interface.expect("an interface's name"));
        (total.requests, total.forwarded)
    }
}

fn main() -> ExitCode {
    suite::main(&[protections::TESTS, unchanged::TESTS])
}
