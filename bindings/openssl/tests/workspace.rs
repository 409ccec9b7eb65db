//! Modules and programs that the tests load and run, and folders with an OpenSSL configuration and counters for them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use squall_binding_base::counters::{self, Interface, Total, Totals};
use squall_testing::artifacts;
use squall_testing::compiler::compile as run_compiler;
use squall_testing::suite::{self, Need};
use tempfile::TempDir;

/// The configuration that `squall openssl-conf` prints.
pub const FRAGMENT: &str = include_str!("../fragment.cnf");

/// OpenSSL's command and headers.
pub const OPENSSL: Need = Need {
    check: || {
        suite::command("openssl")?;
        let mut compiler = Command::new("cc");
        compiler.args(["-E", "-include", "openssl/core.h", "-x", "c", "/dev/null"]);
        let found = run(&mut compiler).status.success();
        let lacks = || "there are no headers of OpenSSL: install libssl-dev".into();
        found.then_some(()).ok_or_else(lacks)
    },
    required_by: "SQUALL_REQUIRE_PROGRAMS",
};

/// The crate's folder.
pub const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// A folder with the installed provider, the control provider of `tests/programs/control.c`, and the programs.
pub static MODULES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = artifacts::prefix().join("tested-modules");
    std::fs::create_dir_all(&folder).expect("a folder");
    replace(&folder.join("squall.so"), |new| {
        std::fs::copy(artifacts::provider(), new).expect("a copy");
    });
    replace(&folder.join("control.so"), |new| {
        compile("control", new, &["-shared", "-fPIC"]);
    });
    for program in ["rand", "generator", "core"] {
        replace(&folder.join(program), |new| compile(program, new, &[]));
    }
    folder
});

/// A file of that folder.
pub fn module(name: &str) -> PathBuf {
    MODULES.join(name)
}

/// Writes a file by renaming a new one over it, because other processes may be loading the old one.
fn replace(file: &Path, make: impl FnOnce(&Path)) {
    let new = file.with_extension(std::process::id().to_string());
    make(&new);
    std::fs::rename(new, file).expect("its name");
}

/// Compiles `tests/programs/NAME.c` against libcrypto.
fn compile(name: &str, out: &Path, flags: &[&str]) {
    let source = format!("{CRATE}/tests/programs/{name}.c");
    let mut compiler = Command::new("cc");
    compiler
        .args([
            "-O2",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Werror",
        ])
        .args(flags)
        .arg("-o")
        .arg(out)
        .arg(source)
        .args(["-lcrypto", "-lpthread"]);
    run_compiler(&mut compiler);
}

/// A temporary folder with an OpenSSL configuration.
pub struct Workspace(TempDir);

impl Workspace {
    /// A workspace with `configuration`, where `{module}` stands for the provider, which makes the
    /// file of counters.
    pub fn new(configuration: &str) -> Workspace {
        let workspace = Workspace(tempfile::tempdir().expect("a temporary folder"));
        let module = module("squall.so");
        let text = configuration.replace("{module}", &module.to_string_lossy());
        std::fs::write(workspace.path("openssl.cnf"), text).expect("a file");
        workspace
    }

    /// A workspace with the unchanged fragment: squall replaces OpenSSL's generators.
    pub fn replacing() -> Workspace {
        Workspace::new(FRAGMENT)
    }

    /// A workspace with the fragment changed as its comments describe: squall only seeds OpenSSL's
    /// generators.
    pub fn seeding() -> Workspace {
        let seeding = FRAGMENT.replace("\nrandom = SQUALL\n", "\n# random = SQUALL\n");
        assert_ne!(seeding, FRAGMENT);
        Workspace::new(&seeding)
    }

    /// A workspace that loads the provider but uses OpenSSL's own generators.
    pub fn unused() -> Workspace {
        let unused = FRAGMENT.replace("\nrandom = squall_random\n", "\n");
        assert_ne!(unused, FRAGMENT);
        Workspace::new(&unused)
    }

    /// A workspace with the generator of `tests/programs/control.c`.
    pub fn control() -> Workspace {
        let control = module("control.so");
        Workspace::new(
            &FRAGMENT
                .replace("{module}", &control.to_string_lossy())
                .replace("\nrandom = SQUALL\n", "\nrandom = NAIVE\n")
                .replace("\nseed = SQUALL\n", "\n"),
        )
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A command for `program` that uses this configuration and these counters.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("OPENSSL_CONF", self.path("openssl.cnf"))
            .env(counters::VARIABLE, self.path("counters"))
            .env_remove("OPENSSL_MODULES")
            .current_dir(self.0.path());
        command
    }

    /// Runs `openssl ARGUMENTS` and returns its output.
    pub fn openssl(&self, arguments: &[&str]) -> String {
        output_of(self.command("openssl").args(arguments))
    }

    /// Runs a program of `tests/programs` and returns its output.
    pub fn run(&self, name: &str, arguments: &[&str]) -> String {
        output_of(self.command(module(name)).args(arguments))
    }

    pub fn totals(&self) -> Totals {
        counters::read(&self.path("counters")).expect("counters")
    }

    /// The counts of random bytes and of seeds that the provider served.
    pub fn drawn(&self) -> [Total; 2] {
        let totals = self.totals();
        [Interface::Openssl, Interface::OpensslSeed]
            .map(|interface| totals.count(interface).clone())
    }
}

/// The standard output of a command, which must succeed and write no errors.
pub fn output_of(command: &mut Command) -> String {
    let output = run(command);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}: {errors}",
        output.status
    );
    // OpenSSL only reports a module that it cannot load here, and the program goes on.
    assert_eq!(errors, "", "{command:?}");
    String::from_utf8(output.stdout).expect("text")
}

pub fn run(command: &mut Command) -> Output {
    command.output().expect("it can be run")
}
