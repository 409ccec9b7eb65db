//! Programs in C and C++, compiled against the installed library with every warning an error.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use squall_testing::artifacts;
use squall_testing::compiler::compile;
use squall_testing::suite::{self, Need};
use squall_testing::workspace::said;
use tempfile::TempDir;

/// pkg-config(1), which gives compilers the flags for the installed library.
pub const PKG_CONFIG: Need = Need {
    check: || suite::command("pkg-config"),
    required_by: "SQUALL_REQUIRE_PROGRAMS",
};

/// How a program is linked with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// With the shared library.
    Dynamic,
    /// With libsquall's archive and the shared C library.
    Static,
    /// Fully static, with a static C library too.
    FullyStatic,
}

/// A compiled program in a temporary folder of its own.
pub struct Program {
    folder: TempDir,
}

impl Program {
    /// Compiles a file of this crate.
    #[track_caller]
    pub fn of(source: &str, linked: Linked) -> Program {
        Program::with(source, libraries(linked))
    }

    /// Compiles a file of this crate, with these flags for the linker.
    #[track_caller]
    pub fn with(source: &str, libraries: impl IntoIterator<Item = String>) -> Program {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut compiler = compiler(source);
        compiler
            .args(["-O2", "-pthread"])
            .arg("-o")
            .arg(folder.path().join("program"))
            .arg(source_path(source))
            .args(pkg_config(&["--cflags"]))
            .args(libraries);
        compile(&mut compiler);
        Program { folder }
    }

    /// A command that runs the program.
    pub fn command(&self) -> Command {
        Command::new(self.path())
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }
}

/// The compiler for the language of `source`, with warnings as errors.
pub fn compiler(source: &str) -> Command {
    let (compiler, standard) = match Path::new(source).extension().and_then(|name| name.to_str()) {
        Some("cpp") => ("c++", "-std=c++11"),
        _ => ("cc", "-std=c99"),
    };
    let mut command = Command::new(compiler);
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic"]);
    command
}

/// The path of a file of this crate.
pub fn source_path(source: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(source)
}

/// The linker flags for a program that uses the installed library.
pub fn libraries(linked: Linked) -> Vec<String> {
    let libraries = artifacts::prefix().join("lib");
    match linked {
        Linked::Dynamic => {
            let mut flags = pkg_config(&["--libs"]);
            flags.push(format!("-Wl,-rpath,{}", libraries.display()));
            flags
        }
        Linked::Static => pkg_config(&["--libs", "--static"])
            .into_iter()
            .map(|flag| match flag.as_str() {
                // Otherwise the linker prefers the shared library.
                "-lsquall" => "-l:libsquall.a".to_owned(),
                _ => flag,
            })
            .collect(),
        Linked::FullyStatic => {
            let mut flags = pkg_config(&["--libs", "--static"]);
            flags.push("-static".to_owned());
            flags
        }
    }
}

/// What a program prints, which must succeed, with this input.
#[track_caller]
pub fn output_with(command: &mut Command, input: &str) -> Vec<u8> {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

/// The words that pkg-config prints for the installed library.
#[track_caller]
pub fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command
        .args(arguments)
        .arg("squall")
        .env(
            "PKG_CONFIG_LIBDIR",
            artifacts::prefix().join("lib/pkgconfig"),
        )
        .env_remove("PKG_CONFIG_PATH");
    said(&mut command)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}
