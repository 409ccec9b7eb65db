//! squall's libraries and command, built like this program and installed by `scripts/install.sh` below
//! the target directory, as `make install` does for a user.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Cargo's profile of this build.
pub const PROFILE: &str = if cfg!(debug_assertions) {
    "test"
} else {
    "release"
};

static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = root();
    let target = target();
    let installed = target.join("installed");
    let prefix = installed.join(PROFILE);
    fs::create_dir_all(&installed).expect("a folder");
    // Other tests may be installing too.
    let lock = File::create(installed.join("lock")).expect("a file");
    lock.lock().expect("a lock");
    let mut install = Command::new(root.join("scripts/install.sh"));
    // A separate build, without the flags of the tests.
    install
        .arg(&prefix)
        .env_remove("RUSTFLAGS")
        .env("PROFILE", PROFILE)
        .env("CARGO_TARGET_DIR", &target);
    let output = install.output().expect("scripts/install.sh can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scripts/install.sh: {said}");
    prefix
});

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the repository")
}

pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    std::path::absolute(target).expect("a folder")
}

/// The folder that contains `bin`, `lib` and `include`.
pub fn prefix() -> &'static Path {
    &PREFIX
}

pub fn command() -> PathBuf {
    PREFIX.join("bin/squall")
}

pub fn preload() -> PathBuf {
    PREFIX.join("lib/libsquall-preload.so")
}

pub fn provider() -> PathBuf {
    PREFIX.join("lib/ossl-modules/squall.so")
}
