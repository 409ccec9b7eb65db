//! Go's compiler, and what it is given.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sha2::{Digest, Sha256};
use squall_tools::failure::cause;

const SOURCES: [(&str, &str); 5] = [
    ("go.mod", include_str!("../../go/go.mod")),
    ("main.go", include_str!("../../go/main.go")),
    ("source.go", include_str!("../../go/source.go")),
    ("serve.go", include_str!("../../go/serve.go")),
    ("article.go", include_str!("../../go/article.go")),
];

/// The oldest Go that has math/rand/v2: 1.22.
const OLDEST: u32 = 22;

#[derive(Debug)]
pub(super) struct Compiler {
    command: OsString,
    pub(super) version: String,
}

impl Compiler {
    /// The compiler `command`, or why there is none.
    pub(super) fn find(command: &OsStr) -> Result<Compiler, String> {
        let answer = go(command)
            .arg("version")
            .output()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => "Go is not installed".into(),
                _ => format!("{}: {}", command.display(), cause(&error)),
            })?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let version = text
            .split_whitespace()
            .find(|word| word.starts_with("go1."));
        let version = version.ok_or_else(|| complaint(&answer))?;
        match minor(version) {
            Some(OLDEST..) => Ok(Compiler {
                command: command.into(),
                version: version.into(),
            }),
            _ => Err(format!(
                "{version} is too old: go1.{OLDEST} has math/rand/v2"
            )),
        }
    }

    /// What tells programs apart: the sources and who compiles them.
    pub(super) fn key(&self) -> String {
        /// What makes another program of the same sources.
        const SETTINGS: [&str; 3] = ["GOAMD64", "GOARM64", "GOEXPERIMENT"];
        let settings = SETTINGS.map(|name| env::var(name).unwrap_or_default());
        let texts = SOURCES.iter().flat_map(|(name, text)| [*name, *text]);
        let texts = texts.chain([self.version.as_str(), env::consts::ARCH]);
        let mut hash = Sha256::new();
        for part in texts.chain(settings.iter().map(String::as_str)) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Builds the program in `directory`.
    pub(super) fn build(&self, directory: &Path) -> Result<PathBuf, String> {
        let program = directory.join("program");
        let failed = |error: io::Error| format!("{}: {}", directory.display(), cause(&error));
        for (name, text) in SOURCES {
            fs::write(directory.join(name), text).map_err(failed)?;
        }
        let mut build = go(&self.command);
        build.current_dir(directory);
        build
            .args(["build", "-trimpath", "-buildvcs=false", "-o"])
            .arg(&program);
        if ["GOCACHE", "XDG_CACHE_HOME", "HOME"]
            .iter()
            .all(|name| env::var_os(name).is_none())
        {
            build.env("GOCACHE", directory.join("objects"));
        }
        let built = build.output().map_err(failed)?;
        if !built.status.success() {
            return Err(format!(
                "its program cannot be built: {}",
                complaint(&built)
            ));
        }
        fs::set_permissions(&program, Permissions::from_mode(0o700)).map_err(failed)?;
        Ok(program)
    }
}

/// The command `command`, for this machine and without a network.
fn go(command: &OsStr) -> Command {
    let mut go = Command::new(command);
    go.stdin(Stdio::null());
    go.env("GOFLAGS", "-mod=mod").env("GO111MODULE", "on");
    go.env("GOTOOLCHAIN", "local").env("GOPROXY", "off");
    go.env("GOWORK", "off").env("CGO_ENABLED", "0");
    go.env_remove("GOOS").env_remove("GOARCH");
    go
}

/// The second number of a version.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("go1.")?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The first line in which Go says what is wrong; `#` only heads what follows.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines = text.lines().map(str::trim);
    match lines.find(|line| !line.is_empty() && !line.starts_with('#')) {
        Some(line) => line.into(),
        None => output.status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_understood() {
        assert_eq!(minor("go1.22"), Some(22));
        assert_eq!(minor("go1.26.8"), Some(26));
        assert_eq!(minor("go1.9rc2"), Some(9));
        assert_eq!(minor("go2"), None);
    }
}
