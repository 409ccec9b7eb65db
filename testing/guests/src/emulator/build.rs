//! Builds what guests run: programs and libraries of the workspace with cargo, statically linked, because a guest may
//! have no libraries, or for guests with a C library; programs in C and Go; and the kernel module. For arm64 in the root
//! directory that `scripts/arm64-root.sh` makes. What a compiler says goes to standard error.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use squall_tool_base::Failure;
use squall_tool_base::failure::{at, cause};
use tempfile::TempDir;

use crate::debian::{Cache, KernelName};

/// The repository's root directory.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

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
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// Runs `cargo`, which builds `name`, and returns what `find` finds in a line of its messages.
fn build(
    mut cargo: Command,
    name: &str,
    find: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, Failure> {
    let messages = run(name, &mut cargo)?;
    let found = messages.lines().filter_map(find).next_back();
    found.ok_or_else(|| cannot(name, "cargo names no file"))
}

/// Runs what builds `name`, and returns its output.
fn run(name: &str, command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().display().to_string();
    let built = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let built = built.map_err(|error| cannot(name, &format!("{program}: {}", cause(&error))))?;
    match built.status.success() {
        true => Ok(String::from_utf8_lossy(&built.stdout).into_owned()),
        false => Err(cannot(name, &format!("{program}'s messages are above"))),
    }
}

fn cannot(name: &str, why: &str) -> Failure {
    Failure::Runtime(format!("{name} cannot be built: {why}"))
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
        let (command, package, name, options) = match self {
            Artifact::Test(package, name, features) => {
                let options = vec!["--no-run", "--test", name, "--features", features];
                ("test", package, name, options)
            }
            Artifact::Program(package, name) => ("build", package, name, vec!["--bin", name]),
            Artifact::StaticProgram(package, name) => {
                let mut options = vec!["--bin", name, "--all-features", "--release"];
                options.extend(["--config", STATIC]);
                ("build", package, name, options)
            }
            Artifact::Library(package) => ("build", package, package, vec!["--lib"]),
        };
        let mut arguments = vec!["cargo", command, "--locked", "--quiet"];
        arguments.extend(["--message-format=json", "--package", package]);
        arguments.extend(options);
        build(arm64(&arguments), name, |line| match self {
            Artifact::Library(package) => shared_library(package, line),
            _ => executable(line),
        })
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
    run(&source, &mut arm64(&arguments)).map(drop)
}

/// The root directory for arm64, which it may make first.
pub fn root_of_arm64() -> Result<PathBuf, Failure> {
    let mut command = Command::new(Path::new(ROOT).join("scripts/arm64-root.sh"));
    let path = run("arm64's root directory", &mut command)?;
    Ok(PathBuf::from(path.trim_end()))
}

/// A command in that root directory.
fn arm64(arguments: &[&str]) -> Command {
    let mut command = Command::new(Path::new(ROOT).join("scripts/arm64.sh"));
    command.args(arguments).env_remove("RUSTFLAGS");
    command
}

/// Options for C programs.
const C_FLAGS: [&str; 4] = ["-O2", "-Wall", "-Wextra", "-Werror"];

/// The path of the source of the program `name`.
fn c_source(name: &str) -> String {
    format!("{}/programs/{name}.c", env!("CARGO_MANIFEST_DIR"))
}

/// Builds `programs/NAME.c` at `path`, for guests that have a C library, which must be at least as new as this machine's.
pub fn c_program(name: &str, path: &Path) -> Result<(), Failure> {
    let mut compiler = Command::new("cc");
    compiler.args(C_FLAGS).arg(c_source(name));
    run(name, compiler.arg("-o").arg(path)).map(drop)
}

/// Compiles a Java program of the workspace into `directory`, and returns the path of its class.
pub fn java_program(source: &str, directory: &Path) -> Result<PathBuf, Failure> {
    let mut compiler = Command::new("javac");
    compiler.current_dir(ROOT).args(["--release", "11", "-d"]);
    run(source, compiler.arg(directory).arg(source))?;
    let name = Path::new(source).with_extension("class");
    Ok(directory.join(name.file_name().unwrap_or_default()))
}

/// Builds squall for Java, and returns the jar's path.
pub fn jar() -> Result<PathBuf, Failure> {
    let mut script = Command::new(Path::new(ROOT).join("scripts/java.sh"));
    let output = run("squall for Java", script.arg("jar"))?;
    let path = output.lines().next_back().map(PathBuf::from);
    let jar = path.filter(|path| path.is_file());
    jar.ok_or_else(|| cannot("squall for Java", output.trim_end()))
}

/// The tag of builds in which tests can turn guards off.
const SWITCHES: [&str; 2] = ["-tags", "squall_testing"];

/// Builds the Go module's program `internal/NAME` at `path`, statically linked because cgo is off, with its switches for
/// tests.
pub fn go_program(name: &str, path: &Path) -> Result<(), Failure> {
    let mut go = go(&["build", "-trimpath", "-buildvcs=false"]);
    go.args(SWITCHES)
        .arg("-o")
        .arg(path)
        .arg(format!("./internal/{name}"));
    run(name, &mut go).map(drop)
}

/// Builds the tests of one of the Go module's packages for arm64 at `path`: of a package in `internal` with its
/// switches, and of the module itself (".") as programs use it.
pub fn go_tests_for_arm64(package: &str, path: &Path) -> Result<(), Failure> {
    let mut go = go(&["test", "-c", "-trimpath"]);
    if package != "." {
        go.args(SWITCHES);
    }
    go.arg("-o").arg(path).arg(package).env("GOARCH", "arm64");
    run(package, &mut go).map(drop)
}

/// Go in its module's directory.
fn go(arguments: &[&str]) -> Command {
    let mut command = Command::new("go");
    command
        .args(arguments)
        .current_dir(Path::new(ROOT).join("go"))
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOTOOLCHAIN", "local")
        .env("GOWORK", "off")
        .env_remove("GOARCH")
        .env_remove("GOOS");
    command
}

/// The files that kernel modules are built from, in the repository.
const MODULE_PARTS: [&str; 5] = [
    "Kbuild",
    "squall.c",
    "squall_aes.h",
    "squall_vmgenid.c",
    "squall_vmgenid.h",
];

/// Runs make in the compilers' root directory: `$1` is that directory, `$2` the contents of its
/// `/usr/src`, `$3` the modules' sources, `$4` the headers' directory, `$5` a variable that make gets. The mounts are in a namespace of their own and end with it.
const BUILD_MODULE: &str = r#"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --rbind /dev "$1/dev"
mount --rbind /proc "$1/proc"
mount --rbind "$2" "$1/usr/src"
mount --rbind "$3" "$1/module"
exec chroot "$1" /usr/bin/env -i PATH=/usr/bin DEB_BUILD_ARCH=amd64 DEB_HOST_ARCH=amd64 \
    make -s -C "/usr/src/$4" M=/module ${5:+"$5"} modules
"#;

/// Builds the kernel module `name` for the cached kernel `kernel` at `path`. A variable of make, `NAME=VALUE` or
/// nothing, makes it a control: see `kernel/Kbuild`.
pub fn module(
    cache: &Cache,
    kernel: KernelName,
    name: &str,
    variable: &str,
    path: &Path,
) -> Result<(), Failure> {
    let (compilers, kernel) = (cache.compiler()?, cache.kernel(kernel)?);
    let work = TempDir::new().map_err(at(&std::env::temp_dir()))?;
    for part in MODULE_PARTS {
        let from = Path::new(ROOT).join("kernel").join(part);
        fs::copy(&from, work.path().join(part)).map_err(at(&from))?;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    if !is_root()? {
        command.arg("--map-root-user");
    }
    command.args(["--", "/bin/sh", "-euc", BUILD_MODULE, "sh"]);
    command.args([&*compilers, &*kernel.headers, work.path()]);
    command.arg(format!("linux-headers-{}", kernel.release));
    run(name, command.arg(variable))?;
    fs::copy(work.path().join(name).with_extension("ko"), path)
        .map(drop)
        .map_err(at(path))
}

fn is_root() -> Result<bool, Failure> {
    let this = Path::new("/proc/self");
    let owner = this.metadata().map_err(at(this))?.uid();
    Ok(owner == 0)
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
