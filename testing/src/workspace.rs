//! A folder in which programs run, with a door to squall or without one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_bindings::counters::{self, Totals};
use tempfile::TempDir;

use crate::doors;

/// How a program gets its randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    Preloaded,
    /// By the provider, which OpenSSL's configuration names.
    Provided,
}

/// A folder that everybody may read: servers give up their rights. It goes when this is dropped.
pub struct Workspace {
    folder: TempDir,
    /// Whether what goes through doors is counted.
    counts: bool,
}

impl Workspace {
    /// An empty one, with counters at zero.
    pub fn new() -> Workspace {
        let workspace = Workspace {
            folder: tempfile::tempdir().expect("a temporary folder"),
            counts: true,
        };
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(workspace.folder.path(), open).expect("its permissions");
        // Copies, because the build may be where servers without rights cannot look.
        for (name, file) in [
            ("preload.so", doors::preload()),
            ("squall.so", doors::provider()),
        ] {
            fs::copy(file, workspace.path(name)).expect("a copy");
        }
        let fragment = include_str!("../../bindings/openssl/fragment.cnf");
        let module = workspace.path("squall.so");
        let conf = fragment.replace("{module}", &module.to_string_lossy());
        workspace.write("openssl.cnf", &conf);
        let counted = workspace.path("counters");
        counters::create(&counted).expect("counters");
        // Servers count after they have given up their rights.
        let shared = fs::Permissions::from_mode(0o666);
        fs::set_permissions(counted, shared).expect("its permissions");
        workspace
    }

    /// As [`Workspace::new`], for measuring: nothing is counted.
    pub fn without_counters() -> Workspace {
        Workspace {
            counts: false,
            ..Workspace::new()
        }
    }

    /// The path of what is called `name` in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, which everybody may read.
    pub fn write(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).expect("a file");
        path
    }

    /// A folder for a server's data.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).expect("a folder");
        path
    }

    /// `program`, to be run this way, with nothing of this process's own choices in its environment.
    pub fn command(&self, way: Way, program: impl AsRef<OsStr>) -> Command {
        let mut command = match way {
            Way::Preloaded => {
                let mut command = Command::new(doors::command());
                command
                    .args(["run", "--library"])
                    .arg(self.path("preload.so"));
                command.arg("--").arg(program);
                command
            }
            _ => Command::new(program),
        };
        command.env_remove("LD_PRELOAD").env_remove("OPENSSL_CONF");
        command.current_dir(self.folder.path());
        if way == Way::Provided {
            command.env("OPENSSL_CONF", self.path("openssl.cnf"));
        }
        command.env_remove(counters::VARIABLE);
        if self.counts {
            command.env(counters::VARIABLE, self.path("counters"));
        }
        command
    }

    /// What was counted since the workspace was made.
    pub fn counted(&self) -> Totals {
        counters::read(&self.path("counters")).expect("counters")
    }
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace::new()
    }
}

/// Runs a program that must succeed, and gives what it wrote to standard output.
#[track_caller]
pub fn said(command: &mut Command) -> String {
    let output = succeeded(command);
    String::from_utf8(output.stdout).expect("text")
}

/// Runs a program that must succeed.
#[track_caller]
pub fn succeeded(command: &mut Command) -> Output {
    let output = command.output().expect("the program can be run");
    assert!(
        output.status.success(),
        "{command:?}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Where a program is, in PATH or where Debian keeps those of administrators.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(usual);
    folders
        .map(|folder| folder.join(program))
        .find(|path| is_file(path))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
