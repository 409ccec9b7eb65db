//! `squall run`: which programs it reaches and which it refuses, and that they otherwise run as without it.

pub mod installed;
pub mod passed;
pub mod python;
pub mod refused;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_testing::artifacts;
use squall_testing::compiler::compile;
use squall_testing::workspace::write_program;
use tempfile::TempDir;

use crate::common::{squall, text};

/// Prints whether squall's library is loaded.
const PROBE: &str = r#"
#include <stdio.h>
#include <string.h>
int main(void) {
    char line[4096];
    int loaded = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        loaded |= strstr(line, "squall-preload") != NULL;
    printf("loaded %d\n", loaded);
    return 0;
}
"#;

/// What that program prints with the library.
const LOADED: &str = "loaded 1\n";

/// A folder with programs.
struct Workspace(TempDir);

impl Workspace {
    fn new() -> Workspace {
        Workspace(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Creates an executable file.
    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        write_program(&self.path(name), contents)
    }

    /// Compiles a C program.
    #[track_caller]
    fn program(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let (path, text) = (self.path(name), self.path("source.c"));
        fs::write(&text, source).expect("a file");
        let mut cc = Command::new("cc");
        compile(cc.args(options).arg("-o").arg(&path).arg(&text));
        path
    }

    /// Compiles [`PROBE`].
    fn probe(&self) -> PathBuf {
        self.program("probe", PROBE, &[])
    }
}

/// A `squall run` command that names the library.
fn run() -> Command {
    let mut command = squall("run --library");
    command.arg(artifacts::preload());
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the command runs")
}

/// Runs `program`, which must succeed, and returns what it prints.
fn printed(program: &Path) -> String {
    let output = output(run().arg("--").arg(program));
    assert_eq!(text(&output.stderr), "");
    assert!(output.status.success(), "{}", output.status);
    text(&output.stdout)
}
