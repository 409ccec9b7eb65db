//! `scripts/uninstall.sh` removes what `scripts/install.sh` installs, and nothing else; what they cannot do they refuse
//! at once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_testing::artifacts;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A script of the tree `root`, for the build of this test.
fn command(root: &Path, name: &str) -> Command {
    let mut command = Command::new(root.join("scripts").join(name));
    command
        .env("PROFILE", artifacts::PROFILE)
        .env("CARGO_TARGET_DIR", artifacts::target())
        .env_remove("DESTDIR")
        .env_remove("LIBDIR")
        .env_remove("SUDO")
        // A separate build, without the flags of the tests.
        .env_remove("RUSTFLAGS");
    command
}

/// Runs a script with the prefix /usr/local below `destination`.
fn script(name: &str, destination: &Path) {
    let mut command = command(&root(), name);
    command.arg("/usr/local").env("DESTDIR", destination);
    let output = command.output().expect("the script runs");
    assert!(output.status.success(), "{name}: {output:?}");
}

/// A folder with this machine's programs, but without its cargo and sudo, and with scripts of the test.
fn programs(scripts: &[(&str, String)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let ours: Vec<&str> = scripts
        .iter()
        .map(|(name, _)| *name)
        .chain(["cargo", "sudo"])
        .collect();
    for program in fs::read_dir("/usr/bin").expect("a folder") {
        let program = program.expect("an entry");
        if !ours.iter().any(|name| program.file_name() == *name) {
            symlink(program.path(), folder.path().join(program.file_name())).expect("a link");
        }
    }
    for (name, script) in scripts {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        set_mode(&path, 0o755);
    }
    folder
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("other permissions");
}

/// The message of a script that ends with an error, in one line; make adds another.
fn refused(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.output().expect("the script runs");
    let said = String::from_utf8(stderr).expect("text");
    assert!(!status.success(), "{said}");
    let lines: Vec<_> = said
        .lines()
        .filter(|line| !line.starts_with("make: "))
        .collect();
    let [line] = lines[..] else {
        panic!("{said}");
    };
    line.to_owned()
}

/// Before a connection that is slow or metered is used for minutes.
#[test]
fn what_is_fetched_is_said_before() {
    let python = "case $1 in -c) ;; *) echo fetching >&2; exit 1 ;; esac";
    let cargo = format!("exec '{}' \"$@\"", env!("CARGO"));
    let programs = programs(&[("cargo", cargo), ("python3", python.into())]);
    let target = tempfile::tempdir().expect("a folder");
    let mut tools = command(&root(), "wheel-tools.sh");
    tools
        .env("PATH", programs.path())
        .env("CARGO_TARGET_DIR", target.path());
    let output = tools.output().expect("the script runs");
    let said = String::from_utf8(output.stderr).expect("text");
    let (before, _) = said.split_once("fetching\n").expect("it would fetch");
    assert!(before.contains("500 MB"), "{said}");
}

#[test]
fn without_kernel_headers_make_says_what_to_install() {
    let mut make = Command::new("make");
    make.args(["--silent", "--directory"])
        .arg(root().join("kernel"))
        .args(["modules", "KDIR=/nonexistent/build"])
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL");
    let said = refused(&mut make);
    assert!(
        said.contains("no kernel headers in /nonexistent/build: install linux-headers-"),
        "{said}"
    );
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
        "share/squall/schema/wipe-report.schema.json",
        "share/zsh/site-functions/_squall",
        "share/fish/vendor_completions.d/squall.fish",
    ] {
        assert!(local.join(file).is_file(), "{file} is not installed");
    }

    script("uninstall.sh", destination.path());
    assert_eq!(files(destination.path()), [others]);
}

#[test]
fn what_is_installed_is_where_cargo_says() {
    // Another tree, which has no `target`: cargo builds this one, in a folder that only it knows.
    let tree = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(root()).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_name() != "target" {
            symlink(entry.path(), tree.path().join(entry.file_name())).expect("a link");
        }
    }
    let cargo = format!(
        "cd '{}' && CARGO_BUILD_TARGET_DIR='{}' exec '{}' \"$@\"",
        root().display(),
        artifacts::target().display(),
        env!("CARGO"),
    );
    let prefix = tempfile::tempdir().expect("a folder");
    let copied = prefix.path().join("copied");
    let sudo = format!("echo \"$1\" >> '{}'; exec \"$@\"", copied.display());
    let programs = programs(&[("cargo", cargo), ("sudo", sudo)]);
    let path = std::env::var("PATH").expect("text");
    let mut install = command(tree.path(), "install.sh");
    install
        .arg(prefix.path())
        .env_remove("CARGO_TARGET_DIR")
        .env("SUDO", "sudo")
        .env("PATH", format!("{}:{path}", programs.path().display()));
    let output = install.output().expect("the script runs");
    assert!(output.status.success(), "{output:?}");
    assert!(prefix.path().join("bin/squall").is_file());
    // cargo tells how far it is, and the script where everything is.
    let [said, progress] =
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("text"));
    assert!(progress.contains("    Finished "), "{progress}");
    let folder = prefix.path().display();
    for expected in [
        format!("installed: {folder}/bin/squall, libraries in {folder}/lib, "),
        format!("export PATH={folder}/bin:$PATH\n"),
        format!("export PKG_CONFIG_PATH={folder}/lib/pkgconfig, "),
    ] {
        assert!(said.contains(&expected), "{expected}: {said}");
    }
    let copied = fs::read_to_string(copied).expect("what SUDO ran");
    assert!(
        copied.contains("install\n") && copied.contains("ln\n"),
        "{copied}"
    );
}

#[test]
fn without_cargo_scripts_say_who_should_run_them() {
    let programs = programs(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    for script in ["install.sh", "deb.sh", "wheels.sh"] {
        let mut command = command(&root(), script);
        command
            .arg(folder.path().join("made"))
            .env("PATH", programs.path());
        let said = refused(&mut command);
        assert!(said.contains("run make as the user who has Rust"), "{said}");
        assert_eq!(files(folder.path()), [] as [PathBuf; 0]);
    }
}

#[test]
fn packages_whose_folder_cannot_be_made_are_not_built() {
    for script in ["deb.sh", "wheels.sh"] {
        let said = refused(command(&root(), script).arg("/dev/null/x"));
        assert_eq!(said, format!("{script}: /dev/null/x cannot be written to"));
    }
}

#[test]
fn what_cannot_be_installed_is_refused_before_the_build() {
    let folder = tempfile::tempdir().expect("a folder");
    let built = folder.path().join("built");
    let programs = programs(&[("cargo", format!("touch '{}'", built.display()))]);
    let prefix = folder.path().join("prefix");
    fs::create_dir(&prefix).expect("a folder");
    set_mode(folder.path(), 0o755);
    set_mode(&prefix, 0o555);
    let locked = format!("PREFIX={}/local", prefix.display());
    // Root may write everywhere.
    let sudo = match rustix::process::geteuid().is_root() {
        true => "SUDO=setpriv --reuid 65534 --clear-groups",
        false => "SUDO=",
    };
    for (variables, expected) in [
        (
            ["PREFIX=~/x", ""],
            "PREFIX is '~/x': it must be an absolute path",
        ),
        (["PREFIX=/a b", ""], "PREFIX is '/a b': systemd's units"),
        (["LIBDIR=lib", ""], "LIBDIR is 'lib': it must be"),
        (["DESTDIR=~/x", ""], "DESTDIR is '~/x': it must be"),
        (["PREFIX=/dev/null/x", ""], "/dev/null is not a folder that"),
        (
            [&locked, sudo],
            "prefix is not a folder that you can write to",
        ),
    ] {
        let mut make = Command::new("make");
        make.args(["--silent", "--directory"])
            .arg(root())
            .arg("install")
            .args(variables.iter().filter(|variable| !variable.is_empty()))
            .env("PATH", programs.path());
        for name in [
            "DESTDIR",
            "LIBDIR",
            "MAKEFLAGS",
            "MAKELEVEL",
            "PREFIX",
            "SUDO",
        ] {
            make.env_remove(name);
        }
        let said = refused(&mut make);
        assert!(said.contains(expected), "{variables:?}: {said}");
        assert!(!built.exists(), "{variables:?}");
        assert_eq!(files(folder.path()), [] as [PathBuf; 0]);
    }
}
