//! Builds programs of the module in Go for guests: static, as Go makes them without cgo.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use squall_command::Failure;
use squall_command::failure::cause;

use super::build::ROOT;

/// Where the module is, in the repository.
const MODULE: &str = "go";

/// What to do where there is no Go.
const INSTALL: &str = "install Go 1.26 or later (https://go.dev/dl) and have `go` in PATH";

/// Builds the module's program `internal/NAME` at `path`.
pub fn program(name: &str, path: &Path) -> Result<(), Failure> {
    build("go", name, path)
}

fn build(go: &str, name: &str, path: &Path) -> Result<(), Failure> {
    let failed = |why: String| Failure::Runtime(format!("{name} cannot be built: {why}"));
    let built = Command::new(go)
        .current_dir(Path::new(ROOT).join(MODULE))
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(path)
        .arg(format!("./internal/{name}"))
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOTOOLCHAIN", "local")
        .env("GOWORK", "off")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed(format!("Go is not installed: {INSTALL}")),
            _ => failed(cause(&error)),
        })?;
    match built.status.success() {
        true => Ok(()),
        false => Err(failed(complaint(&built.stderr))),
    }
}

/// The first line in which Go says what is wrong; `#` only heads what follows.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    line.unwrap_or("no reason given").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_go_it_is_told_what_to_install() {
        let built = build("/dev/null/go", "labprobe", Path::new("/dev/null/program"));
        assert!(matches!(built, Err(Failure::Runtime(_))));
        let built = build("no-such-go", "labprobe", Path::new("/dev/null/program"));
        let Err(Failure::Runtime(message)) = built else {
            panic!("{built:?}");
        };
        assert!(message.contains("not installed: install Go"), "{message}");
    }

    #[test]
    fn what_go_complains_of_is_one_line() {
        let said = b"# some/package\n./main.go:3:2: undefined: x\n./main.go:4:2: undefined: y\n";
        assert_eq!(complaint(said), "./main.go:3:2: undefined: x");
        assert_eq!(complaint(b""), "no reason given");
    }
}
