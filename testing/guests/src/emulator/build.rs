//! Builds programs and libraries of the workspace for guests with cargo: statically linked, because a guest may
//! have no libraries, or for guests with a C library. For arm64 in the root directory that
//! `scripts/arm64-root.sh` makes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use squall_tools::Failure;
use squall_tools::failure::cause;

use super::compiler::{C_FLAGS, ROOT, c_source};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the program `name` of `package` if necessary, and returns its path.
pub fn program(package: &str, name: &str) -> Result<PathBuf, Failure> {
    let mut cargo = cargo(package);
    cargo
        .args(["--all-features", "--bin", name, "--target", TARGET])
        .env("CARGO_TARGET_DIR", target_directory())
        .env("RUSTFLAGS", "-C target-feature=+crt-static");
    build(cargo, name, executable)
}

/// Builds the shared library of `package` if necessary, and returns its path.
pub fn library(package: &str) -> Result<PathBuf, Failure> {
    let mut cargo = cargo(package);
    // RUSTFLAGS of the caller could be meant for another target.
    cargo.arg("--lib").env_remove("RUSTFLAGS");
    build(cargo, package, |line| shared_library(package, line))
}

fn cargo(package: &str) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(ROOT)
        .args(["build", "--release", "--quiet", "--message-format=json"])
        .args(["--package", package])
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stderr(Stdio::inherit());
    command
}

/// Runs `cargo`, which builds `name`, and returns what `find` finds in a line of its messages.
fn build(
    mut cargo: Command,
    name: &str,
    find: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, Failure> {
    let built = cargo.output().map_err(|error| {
        let program = cargo.get_program().display();
        Failure::Runtime(format!(
            "{name} cannot be built: {program}: {}",
            cause(&error)
        ))
    })?;
    let messages = String::from_utf8_lossy(&built.stdout);
    match messages.lines().find_map(find) {
        Some(path) if built.status.success() => Ok(path),
        _ => Err(Failure::Runtime(format!(
            "{name} cannot be built; cargo's messages are above"
        ))),
    }
}

/// A separate target directory, because the flags differ.
fn target_directory() -> OsString {
    let shared = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| [ROOT, "target"].iter().collect());
    shared.join("probe").into()
}

/// The path of the program, if this line of cargo's messages has one.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    message["executable"].as_str().map(PathBuf::from)
}

/// The path of the shared library of `package`, if this line of cargo's messages has one.
fn shared_library(package: &str, line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["target"]["name"] != package.replace('-', "_") {
        return None;
    }
    let files = message["filenames"].as_array()?;
    let mut files = files.iter().filter_map(Value::as_str);
    files.find(|file| file.ends_with(".so")).map(PathBuf::from)
}

/// cargo's setting for programs that need no libraries. What the linker says of the C library's functions
/// that do, which no program of a guest calls, is left out.
const STATIC: &str = "target.aarch64-unknown-linux-gnu.rustflags=['-Ctarget-feature=+crt-static', '-Alinker-messages']";

/// A program or a library of the workspace, for arm64.
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
        match self {
            Artifact::Library(package) => shared_library(package, line),
            _ => executable(line),
        }
    }
}

/// Builds `programs/NAME.c` for arm64 at `path`, which must be below the target directory or `/tmp`.
pub fn c_program_for_arm64(name: &str, path: &Path) -> Result<(), Failure> {
    compile_for_arm64(Path::new(&c_source(name)), &C_FLAGS, path)
}

/// Compiles a C program of the workspace for arm64 at `path`, which must be below the target directory or `/tmp`.
pub fn compile_for_arm64(source: &Path, options: &[&str], path: &Path) -> Result<(), Failure> {
    let [source, path] = [source, path].map(|path| path.display().to_string());
    let mut arguments = vec!["aarch64-linux-gnu-gcc", "-o", &path, &source];
    arguments.extend(options);
    run(&source, &arguments).map(drop)
}

/// The root directory for arm64, which it may make first.
pub fn root_of_arm64() -> Result<PathBuf, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_distinguished_from_its_dependencies() {
        let line = |name: &str, files: &[&str]| {
            let target = serde_json::json!({ "name": name });
            serde_json::json!({ "target": target, "filenames": files }).to_string()
        };
        let found = |line: &str| shared_library("squall-preload", line);
        let files = ["/t/libsquall_preload.a", "/t/libsquall_preload.so"];
        let expected = Some("/t/libsquall_preload.so".into());
        assert_eq!(found(&line("squall_preload", &files)), expected);
        assert_eq!(
            found(&line("serde_derive", &["/t/libserde_derive.so"])),
            None
        );
        assert_eq!(found("no message"), None);
    }
}
