//! A folder in which programs run with squall or without it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use squall_binding_base::counters::{self, Totals};
use tempfile::TempDir;

use crate::artifacts;

/// How a program gets its randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    Preloaded,
    /// From squall's provider, which OpenSSL's configuration names.
    Provided,
}

/// A folder that everybody may read, because servers drop their privileges. It is removed on drop.
pub struct Workspace {
    folder: TempDir,
    /// Whether squall counts its requests.
    counts: bool,
}

impl Workspace {
    /// An empty workspace, with counters at zero.
    pub fn new() -> Workspace {
        let workspace = Workspace {
            folder: tempfile::tempdir().expect("a temporary folder"),
            counts: true,
        };
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(workspace.folder.path(), open).expect("its permissions");
        // Copies, because servers without privileges may not be able to read the build directory.
        for (name, file) in [
            ("preload.so", artifacts::preload()),
            ("squall.so", artifacts::provider()),
        ] {
            fs::copy(file, workspace.path(name)).expect("a copy");
        }
        let fragment = include_str!("../../bindings/openssl/fragment.cnf");
        let module = workspace.path("squall.so");
        let conf = fragment.replace("{module}", &module.to_string_lossy());
        workspace.write("openssl.cnf", &conf);
        let counted = workspace.path("counters");
        counters::create(&counted).expect("counters");
        // Servers count after they have dropped their privileges.
        let shared = fs::Permissions::from_mode(0o666);
        fs::set_permissions(counted, shared).expect("its permissions");
        workspace
    }

    /// Like [`Workspace::new`], but without counters, for measurements.
    pub fn without_counters() -> Workspace {
        Workspace {
            counts: false,
            ..Workspace::new()
        }
    }

    /// The path of the file `name` in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file that everybody may read.
    pub fn write(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).expect("a file");
        path
    }

    /// Creates a folder for a server's data.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).expect("a folder");
        path
    }

    /// A command for `program` that gets its randomness by `way`. Settings of this process are not in
    /// its environment.
    pub fn command(&self, way: Way, program: impl AsRef<OsStr>) -> Command {
        let mut command = match way {
            Way::Preloaded => {
                let mut command = Command::new(artifacts::command());
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

    /// The counts since the workspace was made.
    pub fn counted(&self) -> Totals {
        counters::read(&self.path("counters")).expect("counters")
    }
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace::new()
    }
}

/// Runs a program, which must succeed, and returns its standard output.
#[track_caller]
pub fn said(command: &mut Command) -> String {
    let output = succeeded(command);
    String::from_utf8(output.stdout).expect("text")
}

/// Runs a program, which must succeed, and returns its standard output, and what squall counted meanwhile.
#[track_caller]
pub fn counted(command: &mut Command) -> (String, Totals) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    counters::create(&file).expect("counters");
    let output = said(command.env(counters::VARIABLE, &file));
    (output, counters::read(&file).expect("counters"))
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

/// Copies `from` to `to`, executable by everyone. Another process copies it: if this one did, children of its other
/// threads would briefly hold it open for writing, and it could not be executed.
pub fn copy_program(from: &Path, to: &Path) -> PathBuf {
    install_from(from, to, &[])
}

/// Writes a program to `path`, executable by everyone, as [`copy_program`] copies one.
pub fn write_program(path: &Path, contents: impl AsRef<[u8]>) -> PathBuf {
    install_from(Path::new("/dev/stdin"), path, contents.as_ref())
}

fn install_from(from: &Path, to: &Path, input: &[u8]) -> PathBuf {
    let mut install = Command::new("install");
    let install = install.args(["-D", "-m", "755"]).arg(from).arg(to);
    let mut child = install.stdin(Stdio::piped()).spawn().expect("install runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("install reads");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    to.to_owned()
}

/// The path of a program, from PATH or Debian's directories for administrators.
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
