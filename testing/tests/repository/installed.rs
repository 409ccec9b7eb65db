//! `scripts/uninstall.sh` removes what `scripts/install.sh` installs, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a script with the prefix /usr/local below `destination`.
fn script(name: &str, destination: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let profile = if cfg!(debug_assertions) {
        "test"
    } else {
        "release"
    };
    let mut command = Command::new(root.join("scripts").join(name));
    command
        .arg("/usr/local")
        .env("DESTDIR", destination)
        .env("PROFILE", profile)
        .env("CARGO_TARGET_DIR", squall_testing::doors::target())
        .env_remove("LIBDIR")
        // A separate build, without the flags of the tests.
        .env_remove("RUSTFLAGS");
    let output = command.output().expect("the script runs");
    assert!(output.status.success(), "{name}: {output:?}");
}

/// Files and links below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry"))
        .flat_map(|entry| {
            if entry.file_type().expect("a type").is_dir() {
                files(&entry.path())
            } else {
                vec![entry.path()]
            }
        })
        .collect()
}

#[test]
fn uninstall_removes_exactly_the_installed_files() {
    let destination = tempfile::tempdir().expect("a folder");
    let local = destination.path().join("usr/local");
    let others = local.join("lib/libsquall.so.other");
    fs::create_dir_all(others.parent().expect("a folder")).expect("a folder");
    fs::write(&others, "of another program").expect("a file");

    script("install.sh", destination.path());
    for file in [
        "bin/squall",
        "lib/libsquall.so",
        "share/man/man1/squall.1",
        "share/bash-completion/completions/squall",
        "share/zsh/site-functions/_squall",
        "share/fish/vendor_completions.d/squall.fish",
    ] {
        assert!(local.join(file).is_file(), "{file} is not installed");
    }

    script("uninstall.sh", destination.path());
    assert_eq!(files(destination.path()), [others]);
}
