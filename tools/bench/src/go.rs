//! Go's generators, in a program with Go's standard library alone, which is built for each run.
//!
//! Go compiles its library once and keeps it in its own cache. Building takes no network.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use tempfile::TempDir;

use crate::remote::{self, Remote, TIMEOUT};

const SOURCES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../go/go.mod")),
    ("main.go", include_str!("../go/main.go")),
];

/// The oldest Go that has math/rand/v2: 1.22.
const OLDEST: u32 = 22;

/// The name of the program.
const PROGRAM: &str = "program";

/// Prints what of the standard library is not compiled yet.
const NOT_COMPILED: &str = "{{if and .Standard .Stale}}{{.ImportPath}}{{end}}";

/// The program, ready to run; it is removed when this is dropped.
#[derive(Debug)]
pub struct Program {
    directory: TempDir,
    version: String,
}

impl Program {
    /// The version of Go that it was built with, as in `go1.26.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A process that serves `source`: `crypto` (crypto/rand) or `math` (math/rand/v2). Its threads
    /// are goroutines.
    pub fn source(&self, source: &str) -> Result<Remote, Failure> {
        Remote::start(self.command(&["serve", source]))
    }

    /// Nanoseconds that the first 32 bytes of a new process take, seen from within.
    pub fn first(&self, source: &str) -> Result<f64, Failure> {
        remote::number_of(self.command(&["first", source]), TIMEOUT)
    }

    /// A call of the program.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.directory.path().join(PROGRAM));
        command.args(args);
        command
    }
}

/// The program, built by the command `go`. The first time, Go compiles its library, which takes half
/// a minute: only if that is allowed. Fails if it is not, or if Go is not installed, is too old, or has failed.
pub fn program(go: &OsStr, may_compile: bool) -> Result<Program, String> {
    let directory = tempfile::Builder::new()
        .prefix("squall-bench-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| error.to_string())?;
    let folder = directory.path();
    let version = version(&ask(go, folder, &["version"])?)?;
    for (name, text) in SOURCES {
        let written = fs::write(folder.join(name), text);
        written.map_err(|error| format!("{}: {}", folder.display(), cause(&error)))?;
    }
    let list = ["list", "-trimpath", "-deps", "-f", NOT_COMPILED, "."];
    if !may_compile && !ask(go, folder, &list)?.trim().is_empty() {
        return Err("its program is not built yet: a full run does that".into());
    }
    let build = ["build", "-trimpath", "-buildvcs=false", "-o", PROGRAM];
    let built = ask(go, folder, &build);
    built.map_err(|why| format!("its program cannot be built: {why}"))?;
    Ok(Program { directory, version })
}

/// What the command `go` prints, called in `folder`: for this machine and without a network.
fn ask(go: &OsStr, folder: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new(go);
    command
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .envs([("GOFLAGS", "-mod=mod"), ("GO111MODULE", "on")])
        .envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off")])
        .envs([("GOWORK", "off"), ("CGO_ENABLED", "0")])
        .env_remove("GOOS")
        .env_remove("GOARCH");
    let caches = ["GOCACHE", "XDG_CACHE_HOME", "HOME"];
    if caches.iter().all(|name| env::var_os(name).is_none()) {
        command.env("GOCACHE", folder.join("objects"));
    }
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "Go is not installed".into(),
        _ => format!("{}: {}", go.display(), cause(&error)),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    // `#` only heads what follows.
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let said = errors.lines().map(str::trim).find(is_said);
    Err(said.map_or_else(|| output.status.to_string(), Into::into))
}

/// The version in the output of `go version`, if it is not too old.
fn version(output: &str) -> Result<String, String> {
    let version = output.split(' ').find(|word| word.starts_with("go1."));
    let version = version.ok_or_else(|| format!("no version of Go: {}", output.trim()))?;
    let minor = version["go1.".len()..].split(|c: char| !c.is_ascii_digit());
    match minor.map(str::parse).next() {
        Some(Ok(OLDEST..)) => Ok(version.into()),
        _ => Err(format!(
            "{version} is too old: go1.{OLDEST} has math/rand/v2"
        )),
    }
}
