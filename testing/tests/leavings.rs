//! What builds leave in the source tree is ignored by git.

use std::fs;
use std::path::Path;
use std::process::Command;

use squall_testing::suite::{self, NOTHING, Need, Test};
use squall_testing::tests;

const GIT: Need = Need {
    check: || suite::command("git"),
    required_by: NOTHING,
};

pub const TESTS: &[Test] = tests![
    git_ignores_what_builds_leave: [GIT],
];

fn git_ignores_what_builds_leave() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = tempfile::tempdir().expect("a folder");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(tree.path()).args(arguments);
        command.output().expect("git runs")
    };
    assert!(git(&["init", "--quiet"]).status.success());
    fs::create_dir(tree.path().join("kernel")).expect("a folder");
    for file in [".gitignore", "kernel/.gitignore"] {
        fs::copy(root.join(file), tree.path().join(file)).expect("a copy");
    }
    let is_ignored = |path: &str| git(&["check-ignore", "--quiet", path]).status.success();
    for path in [
        ".venv/bin/python",
        "kernel/.squall_vmgenid.o.d",
        "kernel/.squall.ko.cmd",
        "kernel/squall.mod.c",
        "kernel/modules.order",
        "target/debug/squall",
    ] {
        assert!(is_ignored(path), "{path}");
    }
    for path in [
        "kernel/squall.c",
        "kernel/dkms.conf",
        "README.md",
        "scripts/deb.sh",
    ] {
        assert!(!is_ignored(path), "{path}");
    }
}
