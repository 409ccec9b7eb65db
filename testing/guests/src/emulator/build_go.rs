//! Builds programs and tests of the Go module for guests, statically linked because cgo is off.

use std::path::Path;
use std::process::Command;

use squall_tools::Failure;

use super::build::ROOT;
use super::compiler;

/// The module's directory in the repository.
const MODULE: &str = "go";

/// The message if Go is not installed.
const MISSING: &str =
    "Go is not installed: install Go 1.26 or later (https://go.dev/dl) and have `go` in PATH";

/// The tag of builds in which tests can turn guards off.
const SWITCHES: [&str; 2] = ["-tags", "squall_testing"];

/// Builds the module's program `internal/NAME` at `path`, with its switches for tests.
pub fn program(name: &str, path: &Path) -> Result<(), Failure> {
    build("go", name, path)
}

fn build(go: &str, name: &str, path: &Path) -> Result<(), Failure> {
    let mut command = Command::new(go);
    command
        .args(["build", "-trimpath", "-buildvcs=false"])
        .args(SWITCHES)
        .arg("-o")
        .arg(path)
        .arg(format!("./internal/{name}"))
        .env_remove("GOARCH");
    run(command, name)
}

/// Builds the tests of one of the module's packages for arm64 at `path`: of a package in `internal` with its
/// switches, and of the module itself (".") as programs use it.
pub fn tests_for_arm64(package: &str, path: &Path) -> Result<(), Failure> {
    let mut command = Command::new("go");
    command.args(["test", "-c", "-trimpath"]);
    if package != "." {
        command.args(SWITCHES);
    }
    command.arg("-o").arg(path).arg(package);
    command.env("GOARCH", "arm64");
    run(command, package)
}

/// Runs Go in the module's directory.
fn run(mut command: Command, name: &str) -> Result<(), Failure> {
    command
        .current_dir(Path::new(ROOT).join(MODULE))
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOTOOLCHAIN", "local")
        .env("GOWORK", "off")
        .env_remove("GOOS");
    // Lines that begin with `#` are headings.
    compiler::build(&mut command, name, MISSING, |line| !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_go_is_reported_with_what_to_install() {
        let built = build("/dev/null/go", "labprobe", Path::new("/dev/null/program"));
        assert!(matches!(built, Err(Failure::Runtime(_))));
        let built = build("no-such-go", "labprobe", Path::new("/dev/null/program"));
        let Err(Failure::Runtime(message)) = built else {
            panic!("{built:?}");
        };
        assert!(message.contains("not installed: install Go"), "{message}");
    }
}
