//! Runs compilers of C, of Go and of the kernel module for guests, and reports a failure in one line.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use squall_tools::Failure;
use squall_tools::failure::{at, cause};
use tempfile::TempDir;

use crate::debian::{Cache, KernelName};

/// The repository's root directory.
pub(super) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Builds `name` with `compiler`. `missing` is the message if there is no compiler; `is_error` finds
/// the line of its output that says what is wrong.
fn compile(
    compiler: &mut Command,
    name: &str,
    missing: &str,
    is_error: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let failed = |why: String| Failure::Runtime(format!("{name} cannot be built: {why}"));
    let built = compiler
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed(missing.to_owned()),
            _ => failed(cause(&error)),
        })?;
    if built.status.success() {
        Ok(())
    } else {
        Err(failed(error_line(&built.stderr, is_error)))
    }
}

fn error_line(stderr: &[u8], is_error: impl Fn(&str) -> bool) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && is_error(line));
    line.unwrap_or("no reason given").into()
}

/// The directory of the C programs' sources.
const C_SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs");

/// Options for C programs.
pub(super) const C_FLAGS: [&str; 4] = ["-O2", "-Wall", "-Wextra", "-Werror"];

/// The path of the source of the program `name`.
pub(super) fn c_source(name: &str) -> String {
    format!("{C_SOURCES}/{name}.c")
}

/// The message if there is no compiler.
const NO_C_COMPILER: &str =
    "no C compiler is installed: install gcc or clang, and have `cc` in PATH";

/// Builds `programs/NAME.c` at `path`, for guests that have a C library. It needs a C library at least as new as this machine's.
pub fn c_program(name: &str, path: &Path) -> Result<(), Failure> {
    build_c("cc", name, path)
}

fn build_c(compiler: &str, name: &str, path: &Path) -> Result<(), Failure> {
    let mut command = Command::new(compiler);
    command
        .args(C_FLAGS)
        .arg("-o")
        .arg(path)
        .arg(c_source(name));
    command.env("LC_ALL", "C");
    // The lines before the error only give its position.
    compile(&mut command, name, NO_C_COMPILER, |line| {
        line.contains("error:")
    })
}

/// The message if Go is not installed.
const NO_GO: &str =
    "Go is not installed: install Go 1.26 or later (https://go.dev/dl) and have `go` in PATH";

/// The tag of builds in which tests can turn guards off.
const SWITCHES: [&str; 2] = ["-tags", "squall_testing"];

/// Builds the Go module's program `internal/NAME` at `path`, statically linked because cgo is off, with its switches for tests.
pub fn go_program(name: &str, path: &Path) -> Result<(), Failure> {
    build_go("go", name, path)
}

fn build_go(go: &str, name: &str, path: &Path) -> Result<(), Failure> {
    let mut command = Command::new(go);
    command
        .args(["build", "-trimpath", "-buildvcs=false"])
        .args(SWITCHES)
        .arg("-o")
        .arg(path)
        .arg(format!("./internal/{name}"))
        .env_remove("GOARCH");
    run_go(command, name)
}

/// Builds the tests of one of the Go module's packages for arm64 at `path`: of a package in `internal` with its
/// switches, and of the module itself (".") as programs use it.
pub fn go_tests_for_arm64(package: &str, path: &Path) -> Result<(), Failure> {
    let mut command = Command::new("go");
    command.args(["test", "-c", "-trimpath"]);
    if package != "." {
        command.args(SWITCHES);
    }
    command.arg("-o").arg(path).arg(package);
    command.env("GOARCH", "arm64");
    run_go(command, package)
}

/// Runs Go in its module's directory.
fn run_go(mut command: Command, name: &str) -> Result<(), Failure> {
    command
        .current_dir(Path::new(ROOT).join("go"))
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOTOOLCHAIN", "local")
        .env("GOWORK", "off")
        .env_remove("GOOS");
    // Lines that begin with `#` are headings.
    compile(&mut command, name, NO_GO, |line| !line.starts_with('#'))
}

/// The file of the kernel module.
const MODULE: &str = "squall_vmgenid.ko";

/// The files that it is built from, in the repository.
const MODULE_PARTS: [&str; 2] = ["Kbuild", "squall_vmgenid.c"];

/// Runs make in the compilers' root directory: `$1` is that directory, `$2` the contents of its
/// `/usr/src`, `$3` the module's sources, `$4` the headers' directory, `$5` non-empty for a copy of the
/// page. The mounts are in a namespace of their own and end with it.
const BUILD_MODULE: &str = r#"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --rbind /dev "$1/dev"
mount --rbind /proc "$1/proc"
mount --rbind "$2" "$1/usr/src"
mount --rbind "$3" "$1/module"
exec chroot "$1" /usr/bin/env -i PATH=/usr/bin DEB_BUILD_ARCH=amd64 DEB_HOST_ARCH=amd64 \
    make -s -C "/usr/src/$4" M=/module "COPY=$5" modules
"#;

/// Builds the kernel module for the cached kernel `kernel` at `path`: it shows vmgenid's page, or else a copy
/// of the page that never changes.
pub fn module(
    cache: &Cache,
    kernel: KernelName,
    shows_copy: bool,
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
    command
        .arg(&compilers)
        .arg(&kernel.headers)
        .arg(work.path());
    command.arg(format!("linux-headers-{}", kernel.release));
    command.arg(if shows_copy { "1" } else { "" });
    command.env("LC_ALL", "C");
    let missing = "unshare is missing: install util-linux";
    compile(&mut command, MODULE, missing, |line| line.contains("rror"))?;
    fs::copy(work.path().join(MODULE), path)
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
    fn the_first_error_line_is_reported() {
        let output = b"x.c: In function 'main':\n\nx.c:3:2: error: no x\nx.c:4:2: error: no y\n";
        let is_error = |line: &str| line.contains("error:");
        assert_eq!(error_line(output, is_error), "x.c:3:2: error: no x");
        assert_eq!(error_line(b"", is_error), "no reason given");
        assert_eq!(error_line(output, |_| true), "x.c: In function 'main':");
    }

    #[test]
    fn a_missing_compiler_is_reported_with_what_to_install() {
        let built = build_c("no-such-cc", "draws", Path::new("/dev/null/program"));
        let Err(Failure::Runtime(message)) = built else {
            panic!("{built:?}");
        };
        assert!(
            message.contains("no C compiler is installed: install gcc"),
            "{message}"
        );
    }

    #[test]
    fn a_missing_go_is_reported_with_what_to_install() {
        let built = build_go("/dev/null/go", "labprobe", Path::new("/dev/null/program"));
        assert!(matches!(built, Err(Failure::Runtime(_))));
        let built = build_go("no-such-go", "labprobe", Path::new("/dev/null/program"));
        let Err(Failure::Runtime(message)) = built else {
            panic!("{built:?}");
        };
        assert!(message.contains("not installed: install Go"), "{message}");
    }
}
