//! squall's libraries and command, built as this program is and installed by `scripts/install.sh`
//! into a folder below the build's, as `make install` does it for a user.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = root();
    let target = target();
    let profile = if cfg!(debug_assertions) {
        "test"
    } else {
        "release"
    };
    let prefix = target.join("installed").join(profile);
    let mut install = Command::new(root.join("scripts/install.sh"));
    // A build of its own: not with the flags of the tests that ask for it.
    install
        .arg(&prefix)
        .env_remove("RUSTFLAGS")
        .env("PROFILE", profile)
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

/// The folder that `bin`, `lib` and `include` are in.
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
