//! Programs for the tests of `squall run`, and ways to run them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_testing::compiler::compile;
use squall_testing::workspace::{copy_program, write_program};
use tempfile::TempDir;

use crate::common::{squall, text};

/// The ID of a user without privileges, and of a group that the user is not in.
pub const NOBODY: u32 = 65534;

/// Prints whether it is in secure mode (1 or 0), and whether squall's library is loaded.
pub const PROBE_SOURCE: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
int main(void) {
    char line[4096];
    int loaded = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        loaded |= strstr(line, "squall-preload") != NULL;
    printf("secure %lu loaded %d\n", getauxval(AT_SECURE), loaded);
    return 0;
}
"#;

/// What that program prints with the library.
pub const LOADED: &str = "secure 0 loaded 1\n";

/// A folder that every user may read.
pub struct Workspace(TempDir);

impl Workspace {
    pub fn new() -> Workspace {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
        Workspace(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Creates an executable file.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        write_program(&self.path(name), contents)
    }

    /// Compiles a C program.
    #[track_caller]
    pub fn program(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let (path, text) = (self.path(name), self.path("source.c"));
        fs::write(&text, source).expect("a file");
        let mut cc = Command::new("cc");
        compile(cc.args(options).arg("-o").arg(&path).arg(&text));
        path
    }

    /// Compiles [`PROBE_SOURCE`].
    pub fn probe(&self) -> PathBuf {
        self.program("probe", PROBE_SOURCE, &[])
    }

    /// Copies the command and the library to where every user may read them.
    pub fn public(&self) -> Public {
        Public {
            command: copy_program(
                Path::new(env!("CARGO_BIN_EXE_squall")),
                &self.path("squall"),
            ),
            library: copy_program(&library(), &self.path("libsquall-preload.so")),
        }
    }
}

pub struct Public {
    pub command: PathBuf,
    pub library: PathBuf,
}

impl Public {
    /// Runs `squall run` on `program` through setpriv(1) with `options`.
    pub fn run_by(&self, options: &[&str], program: &Path) -> Output {
        let mut command = Command::new("setpriv");
        command
            .args(options)
            .arg(&self.command)
            .args(["run", "--library"]);
        let output = command.arg(&self.library).arg("--").arg(program).output();
        output.expect("setpriv runs")
    }
}

/// The path of the installed library.
pub fn library() -> PathBuf {
    squall_testing::artifacts::preload()
}

/// A `squall run` command that names the library.
pub fn run() -> Command {
    let mut command = squall("run --library");
    command.arg(library());
    command
}

pub fn output(command: &mut Command) -> Output {
    command.output().expect("the command runs")
}

/// Runs `program`, which must succeed, and returns what it prints.
pub fn printed(program: &Path) -> String {
    let output = output(run().arg("--").arg(program));
    assert_eq!(text(&output.stderr), "");
    assert!(output.status.success(), "{}", output.status);
    text(&output.stdout)
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Sets owner and group, and then the mode, because chown(2) clears mode bits.
pub fn set(path: &Path, owner: u32, group: u32, mode: u32) {
    chown(path, Some(owner), Some(group)).expect("root may");
    set_mode(path, mode);
}
