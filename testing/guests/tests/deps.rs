//! `scripts/lab-deps.sh`: how it handles packages, how it fails, and that the lab finds what it has made.
//!
//! No test needs a network: scripts stand in for apt and dpkg, and directories for packages.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use squall_guests::commands::contains;
use squall_guests::debian::{Architecture, Cache, KernelName};
use squall_guests::fixture::message;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::{said, write_program};
use tempfile::TempDir;

pub const TESTS: &[Test] = tests![
    everything_is_fetched_once_and_found,
    a_tree_of_other_lists_is_replaced_once_another_is_whole,
    two_runs_do_not_disturb_each_other,
    what_is_missing_or_wrong_is_named,
];

const APT_GET: &str = r#"#!/bin/sh
echo "$*" >> "$FAKE/log"
case " $* " in
*" indextargets "*) echo http://mirror.invalid/debian/ ;;
*" install "*) for word; do :; done; sed 's/.*/Inst & (1 Debian [arm64])/' "$FAKE/archive/$word" ;;
*" download "*)
    while [ "$1" != download ]; do shift; done
    shift
    for name; do
        cp -r "$FAKE/archive/${name}_"*.deb . 2> /dev/null && continue
        echo "E: Unable to locate package $name" >&2
        exit 100
    done ;;
esac
"#;

const DPKG_DEB: &str = r#"#!/bin/sh
case $1 in
-W) basename "$4" .deb | tr _ ' ' ;;
-x)
    if [ -e "$FAKE/full" ]; then
        echo 'tar: ./x: Cannot write: No space left on device' >&2
        echo 'dpkg-deb: error: tar subprocess returned error exit status 2' >&2
        exit 2
    fi
    cp -r "$2/." "$3"
    if [ -e "$FAKE/killed" ]; then kill -KILL "$PPID"; fi ;;
esac
"#;

const PROGRAMS: [(&str, &str); 3] = [
    ("apt-get", APT_GET),
    ("dpkg-deb", DPKG_DEB),
    ("uname", "#!/bin/sh\necho x86_64\n"),
];

/// A directory with an archive, the scripts that fetch from it, and a cache.
struct Workspace(TempDir);

impl Workspace {
    /// The archive has QEMU for arm64 and two kernels, of both layouts.
    fn new() -> Workspace {
        let workspace = Workspace(TempDir::new().expect("a directory"));
        for (name, text) in PROGRAMS {
            write_program(&workspace.path("bin").join(name), text);
        }
        workspace.qemu("1");
        workspace.package("linux-image-cloud-arm64", "6-1", &[]);
        workspace.package(
            "linux-image-6",
            "6-1",
            &[
                "boot/vmlinuz-6",
                "lib/modules/6/kernel/drivers/gpu/drm/radeon.ko",
                "lib/modules/6/kernel/drivers/md/dm-crypt.ko",
            ],
        );
        workspace.closure(
            "linux-image-cloud-arm64",
            &["linux-image-6", "kmod", "linux-image-cloud-arm64"],
        );
        workspace.package("linux-image-arm64-16k", "7-1", &[]);
        workspace.package("linux-binary-7", "7-1", &["usr/lib/modules/7/vmlinuz"]);
        workspace.package(
            "linux-modules-7",
            "7-1",
            &["usr/lib/modules/7/kernel/drivers/md/dm-crypt.ko.xz"],
        );
        workspace.closure(
            "linux-image-arm64-16k",
            &["linux-binary-7", "linux-modules-7", "linux-image-arm64-16k"],
        );
        workspace
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A package with these files.
    fn package(&self, name: &str, version: &str, files: &[&str]) {
        let package = self.path("archive").join(format!("{name}_{version}.deb"));
        fs::create_dir_all(&package).expect("a package");
        for file in files {
            let path = package.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, version).expect("a file");
        }
    }

    /// The packages that apt installs for `name`.
    fn closure(&self, name: &str, packages: &[&str]) {
        let lines = packages.join("\n") + "\n";
        fs::write(self.path("archive").join(name), lines).expect("a list");
    }

    fn qemu(&self, version: &str) {
        let files = [
            "usr/bin/qemu-system-aarch64",
            "usr/bin/passwd",
            "usr/share/qemu/keymaps/de",
        ];
        self.package("qemu-system-arm", version, &files);
        self.package(
            "libc6",
            "1",
            &["usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"],
        );
        self.closure("qemu-system-arm", &["libc6", "qemu-system-arm"]);
    }

    fn cache(&self) -> Cache {
        Cache::open(Some(&self.path("cache"))).expect("a cache")
    }

    /// The script for `kernels`, with the test's programs first in PATH.
    fn deps(&self, kernels: &[&str]) -> Command {
        let path = std::env::var("PATH").expect("a path");
        let mut command = Command::new(script());
        command
            .args(kernels)
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("FAKE", self.0.path())
            .env("SQUALL_LAB_CACHE", self.path("cache"))
            .stdin(Stdio::null());
        command
    }

    /// The requests to apt since this was last called.
    fn requests(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        let _ = fs::remove_file(self.path("log"));
        log.lines().map(str::to_owned).collect()
    }
}

fn script() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/lab-deps.sh")
}

/// The last line of a run that fails.
#[track_caller]
fn fail(mut command: Command) -> String {
    let output = command.output().expect("the script runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    errors.lines().next_back().expect("a line").to_owned()
}

fn everything_is_fetched_once_and_found() {
    let workspace = Workspace::new();
    let kernels = ["6.12-arm64", "newest-arm64-16k"];
    let first = said(&mut workspace.deps(&kernels));
    let cache = workspace.path("cache");
    let expected = [
        "qemu-arm64 1",
        "kernels/6.12-arm64 6-1",
        "kernels/newest-arm64-16k 7-1",
    ];
    let expected = expected.map(|line| format!("{}/{line}\n", cache.display()));
    assert_eq!(first, expected.concat());
    // Other packages are for installing a kernel.
    assert!(!workspace.requests().concat().contains("kmod"));

    let qemu = workspace
        .cache()
        .qemu_of(Architecture::Arm64)
        .expect("QEMU");
    let tree = cache.join("qemu-arm64");
    let libraries = tree.join("usr/lib/x86_64-linux-gnu");
    assert_eq!(qemu.version, "1");
    assert_eq!(qemu.program, libraries.join("ld-linux-x86-64.so.2"));
    assert!(tree.join("usr/share/qemu").is_dir());
    assert!(!tree.join("usr/bin/passwd").exists());
    let names = [KernelName::Arm64V6_12, KernelName::Arm64NewestPages16K];
    for (name, release, module) in [
        (names[0], "6", "dm-crypt.ko"),
        (names[1], "7", "dm-crypt.ko.xz"),
    ] {
        let kernel = workspace.cache().kernel(name).expect("a kernel");
        assert_eq!(kernel.release, release);
        assert!(kernel.image.is_file());
        let found = kernel.module("drivers/md/dm-crypt").expect("a module");
        assert!(found.ends_with(module) && found.is_file());
        assert_eq!(kernel.module("drivers/gpu/drm/radeon"), None);
    }

    assert_eq!(said(&mut workspace.deps(&kernels)), first);
    assert_eq!(workspace.requests(), Vec::<String>::new());
    assert!(!cache.join("part").exists());
}

/// As earlier versions of the lab left it. A run that fails, or is killed, leaves it there, and no half tree.
fn a_tree_of_other_lists_is_replaced_once_another_is_whole() {
    let workspace = Workspace::new();
    let deps = || workspace.deps(&["6.12-arm64"]);
    let qemu = || {
        workspace
            .cache()
            .qemu_of(Architecture::Arm64)
            .expect("QEMU")
            .version
    };
    let part = workspace.path("cache/part");
    said(&mut deps());
    let record = workspace.path("cache/qemu-arm64/record");
    fs::write(&record, "recipe another\nversion 1\n").expect("a record");
    workspace.qemu("2");
    fs::remove_dir_all(workspace.path("archive/qemu-system-arm_1.deb")).expect("a package");
    workspace.requests();

    fs::write(workspace.path("full"), "").expect("a file");
    let words = ["lab-deps.sh: qemu-arm64: ", "No space left on device"];
    contains(&fail(deps()), &words);
    assert!(qemu() == "1" && !part.exists());
    fs::rename(workspace.path("full"), workspace.path("killed")).expect("a file");
    assert_eq!(deps().status().expect("the script runs").code(), None);
    assert!(qemu() == "1" && part.join("unpacked/usr").exists());
    fs::remove_file(workspace.path("killed")).expect("a file");
    said(&mut deps());
    assert!(qemu() == "2" && !part.exists());
    // The kernel stayed.
    assert!(!workspace.requests().concat().contains("linux-image"));

    fs::remove_dir_all(workspace.path("archive/linux-modules-7_7-1.deb")).expect("a package");
    let failed = fail(workspace.deps(&["newest-arm64-16k"]));
    contains(&failed, &["E: Unable to locate package linux-modules-7"]);
    assert!(!workspace.path("cache/kernels/newest-arm64-16k").exists());
}

fn two_runs_do_not_disturb_each_other() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("cache")).expect("a directory");
    let lock = File::create(workspace.path("cache/lock")).expect("a file");
    lock.lock().expect("a lock");
    let mut run = workspace.deps(&["6.12-arm64"]);
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut run = run.expect("the script runs");
    let mut errors = BufReader::new(run.stderr.take().expect("a pipe"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    assert_eq!(line, "lab-deps.sh: waiting for another run\n");
    assert_eq!(workspace.requests(), Vec::<String>::new());
    lock.unlock().expect("a lock");
    let rest: Vec<_> = errors.lines().collect();
    assert!(run.wait().expect("it ends").success(), "{rest:?}");
    assert!(workspace.cache().qemu_of(Architecture::Arm64).is_ok());
}

fn what_is_missing_or_wrong_is_named() {
    let workspace = Workspace::new();
    let output = workspace
        .deps(&["6.12-arm64", "6.2"])
        .output()
        .expect("the script runs");
    assert_eq!(output.status.code(), Some(2));
    contains(
        &String::from_utf8_lossy(&output.stderr),
        &["6.2 is not known", "6.1 6.12 "],
    );
    assert!(!workspace.path("cache").exists());

    let mut command = workspace.deps(&[]);
    let inside = concat!(env!("CARGO_MANIFEST_DIR"), "/cache");
    command.env("SQUALL_LAB_CACHE", inside);
    contains(&fail(command), &["inside the source tree"]);
    assert!(!Path::new(inside).exists());

    let cache = workspace.cache();
    let place = workspace.path("cache/");
    let place = place.to_str().expect("a path");
    for (failure, maker) in [
        (cache.qemu().unwrap_err(), "make lab-deps"),
        (cache.user_mode().unwrap_err(), "scripts/lab-deps.sh uml"),
        (
            cache.kernel(KernelName::Arm64Newest).unwrap_err(),
            "scripts/lab-deps.sh newest-arm64",
        ),
        (
            cache.kernel(KernelName::Arm64V6_12Pages64K).unwrap_err(),
            "scripts/arm64-kernel-64k.sh",
        ),
    ] {
        contains(&message(failure), &[place, maker]);
    }
}
