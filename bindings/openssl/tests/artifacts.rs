//! Modules that the tests load: the installed provider and the control provider of `tests/programs/control.c`, in one
//! folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use squall_testing::artifacts;
use squall_testing::compiler::compile as run_compiler;

/// The crate's folder.
pub const CRATE: &str = env!("CARGO_MANIFEST_DIR");

static MODULES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = artifacts::prefix().join("tested-modules");
    std::fs::create_dir_all(&folder).expect("a folder");
    replace(&folder.join("squall.so"), |new| {
        std::fs::copy(artifacts::provider(), new).expect("a copy");
    });
    replace(&folder.join("control.so"), |new| {
        compile("control", new, &["-shared", "-fPIC"]);
    });
    folder
});

/// The folder with `squall.so` and `control.so`.
pub fn modules() -> &'static Path {
    &MODULES
}

/// Writes a file by renaming a new one over it, because other processes may be loading the old one.
fn replace(file: &Path, make: impl FnOnce(&Path)) {
    let new = file.with_extension(std::process::id().to_string());
    make(&new);
    std::fs::rename(new, file).expect("its name");
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
    run_compiler(&mut compiler);
}
