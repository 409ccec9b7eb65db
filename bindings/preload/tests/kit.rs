//! Compiles programs, and runs them with and without the installed library.

use std::path::Path;
use std::process::{Command, ExitStatus};

use squall_bindings::counters::{self, Interface, Totals};
use squall_testing::artifacts;
use squall_testing::compiler::compile;
use tempfile::TempDir;

/// A compiled program of `tests/programs`.
pub struct Program {
    folder: TempDir,
    name: String,
}

/// The result of running a program.
#[derive(Debug)]
pub struct Run {
    pub output: String,
    pub status: ExitStatus,
    /// Requests that the library counted during the run.
    pub totals: Totals,
}

impl Program {
    /// Compiles `NAME.c` with additional compiler options.
    #[track_caller]
    pub fn compile(name: &str, options: &[&str]) -> Program {
        let program = Program {
            folder: tempfile::tempdir().expect("a folder"),
            name: name.into(),
        };
        program.compile_with(name, options);
        program
    }

    /// Compiles `library.c` into a shared library, then `program.c` linked with it.
    #[track_caller]
    pub fn compile_with_library(program: &str, library: &str) -> Program {
        let file = format!("lib{library}.so");
        let program_with_library = Program {
            folder: tempfile::tempdir().expect("a folder"),
            name: program.into(),
        };
        let folder = program_with_library
            .folder
            .path()
            .to_str()
            .expect("a path in UTF-8");
        let path = format!("-Wl,-rpath,{folder}");
        let library_path = program_with_library.folder.path().join(&file);
        program_with_library.run_compiler(library, &library_path, &["-shared", "-fPIC"]);
        program_with_library.compile_with(program, &["-L", folder, "-l", library, &path]);
        program_with_library
    }

    #[track_caller]
    fn compile_with(&self, name: &str, options: &[&str]) {
        self.run_compiler(name, &self.folder.path().join(name), options);
    }

    #[track_caller]
    fn run_compiler(&self, name: &str, output: &Path, options: &[&str]) {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O1", "-pthread", "-Wall", "-Wextra", "-Werror"])
            // The tests pass null and negative arguments on purpose.
            .args(["-Wno-nonnull", "-Wno-stringop-overflow", "-o"])
            .arg(output)
            .arg(sources.join(format!("{name}.c")))
            .args(options);
        compile(&mut compiler);
    }

    /// Runs the program without the library; nothing must be counted.
    #[track_caller]
    pub fn run_plain(&self, arguments: &[&str]) -> Run {
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
    pub fn run_preloaded(&self, arguments: &[&str]) -> Run {
        self.run(arguments, Some(&artifacts::preload()))
    }

    fn run(&self, arguments: &[&str], preload: Option<&Path>) -> Run {
        let file = self.folder.path().join("counters");
        let _ = std::fs::remove_file(&file);
        // Otherwise the library makes the file.
        if preload.is_none() {
            counters::create(&file).expect("counters");
        }
        let mut command = Command::new(self.folder.path().join(&self.name));
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
    pub fn counted(&self, name: &str) -> (u64, u64) {
        let interface = Interface::ALL
            .into_iter()
            .find(|interface| interface.name() == name);
        let total = self.totals.count(interface.expect("an interface's name"));
        (total.requests, total.forwarded)
    }
}
