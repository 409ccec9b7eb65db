//! What the tests and the program `targets` load: the provider as it is released, and the one of
//! `tests/programs/control.c`, beside each other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The crate's folder.
pub const CRATE: &str = env!("CARGO_MANIFEST_DIR");

static MODULES: LazyLock<PathBuf> = LazyLock::new(|| {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(CRATE).join("../../target"), PathBuf::from);
    let target = std::path::absolute(target).expect("a folder");
    let folder = target.join("openssl-modules");
    std::fs::create_dir_all(&folder).expect("a folder");
    put(&folder.join("squall.so"), |new| {
        std::fs::copy(build(&target), new).expect("a copy");
    });
    put(&folder.join("control.so"), |new| {
        compile("control", new, &["-shared", "-fPIC"]);
    });
    folder
});

/// The folder with `squall.so` and `control.so`.
pub fn modules() -> &'static Path {
    &MODULES
}

/// Puts a file there at once: others may be loading the one before.
fn put(file: &Path, make: impl FnOnce(&Path)) {
    let new = file.with_extension(std::process::id().to_string());
    make(&new);
    std::fs::rename(new, file).expect("its name");
}

/// Builds the provider in release mode; where it is.
fn build(target: &Path) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    // A build of its own: not with the flags of the tests that ask for it.
    cargo
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "squall-openssl",
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(CRATE)
        .env_remove("RUSTFLAGS");
    let output = cargo.output().expect("cargo can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo build: {said}");
    target.join("release/libsquall_openssl.so")
}

/// Compiles `tests/programs/NAME.c` against libcrypto.
pub fn compile(name: &str, out: &Path, flags: &[&str]) {
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
    let output = compiler.output().expect("cc can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "cc {name}.c (OpenSSL's headers are in libssl-dev): {said}"
    );
}
