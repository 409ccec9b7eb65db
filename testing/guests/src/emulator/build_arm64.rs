//! Builds programs of the workspace for guests with arm64, in the root directory that
//! `scripts/arm64-root.sh` makes. They need that directory's C library.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use squall_tools::Failure;
use squall_tools::failure::cause;

use super::build::ROOT;
use super::build_c;

/// cargo's setting for programs that need no libraries. What the linker says of the C library's functions
/// that do, which no program of a guest calls, is left out.
const STATIC: &str = "target.aarch64-unknown-linux-gnu.rustflags=['-Ctarget-feature=+crt-static', '-Alinker-messages']";

/// A program or a library of the workspace.
#[derive(Clone, Copy, Debug)]
pub enum Artifact {
    /// The test `NAME` of a package, built with these features.
    Test(&'static str, &'static str, &'static str),
    /// The program `NAME` of a package.
    Program(&'static str, &'static str),
    /// The same, statically linked and optimised, with all features of the package.
    StaticProgram(&'static str, &'static str),
    /// The shared library of a package.
    Library(&'static str),
}

impl Artifact {
    /// Builds it if necessary, and returns its path.
    pub fn build(self) -> Result<PathBuf, Failure> {
        let mut arguments = vec!["cargo", self.command(), "--locked", "--quiet"];
        arguments.extend(["--message-format=json", "--package"]);
        let name = match self {
            Artifact::Test(package, name, features) => {
                arguments.extend([package, "--no-run", "--test", name, "--features", features]);
                name
            }
            Artifact::Program(package, name) => {
                arguments.extend([package, "--bin", name]);
                name
            }
            Artifact::StaticProgram(package, name) => {
                arguments.extend([package, "--bin", name, "--all-features", "--release"]);
                arguments.extend(["--config", STATIC]);
                name
            }
            Artifact::Library(package) => {
                arguments.extend([package, "--lib"]);
                package
            }
        };
        let messages = run(name, &arguments)?;
        let mut files = messages.lines().filter_map(|line| self.file(line));
        files
            .next_back()
            .ok_or_else(|| cannot(name, "cargo names no file"))
    }

    fn command(self) -> &'static str {
        match self {
            Artifact::Test(..) => "test",
            _ => "build",
        }
    }

    /// The path, if this line of cargo's messages has it.
    fn file(self, line: &str) -> Option<PathBuf> {
        let message: Value = serde_json::from_str(line).ok()?;
        match self {
            Artifact::Library(package) => {
                let is_it = message["target"]["name"] == package.replace('-', "_");
                let files = message["filenames"].as_array().filter(|_| is_it)?;
                let mut files = files.iter().filter_map(Value::as_str);
                files.find(|file| file.ends_with(".so")).map(PathBuf::from)
            }
            _ => message["executable"].as_str().map(PathBuf::from),
        }
    }
}

/// Builds `programs/NAME.c` at `path`, which must be below the target directory or `/tmp`.
pub fn c_program(name: &str, path: &Path) -> Result<(), Failure> {
    compile(Path::new(&build_c::source(name)), &build_c::FLAGS, path)
}

/// Compiles a C program of the workspace at `path`, which must be below the target directory or `/tmp`.
pub fn compile(source: &Path, options: &[&str], path: &Path) -> Result<(), Failure> {
    let [source, path] = [source, path].map(|path| path.display().to_string());
    let mut arguments = vec!["aarch64-linux-gnu-gcc", "-o", &path, &source];
    arguments.extend(options);
    run(&source, &arguments).map(drop)
}

/// The root directory, which it may make first.
pub fn root() -> Result<PathBuf, Failure> {
    let mut command = Command::new(Path::new(ROOT).join("scripts/arm64-root.sh"));
    let path = output("arm64's root directory", &mut command)?;
    Ok(PathBuf::from(path.trim_end()))
}

fn run(name: &str, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new(Path::new(ROOT).join("scripts/arm64.sh"));
    command.args(arguments).env_remove("RUSTFLAGS");
    output(name, &mut command)
}

fn output(name: &str, command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot(name, &cause(&error)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(cannot(name, "the messages are above"))
    }
}

fn cannot(name: &str, why: &str) -> Failure {
    Failure::Runtime(format!("{name} cannot be built for arm64: {why}"))
}
