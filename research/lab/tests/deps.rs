//! `squall-lab deps`: how it handles packages, and how it fails.
//!
//! No test needs a network. Scripts stand in for apt and dpkg, and directories for packages. The real
//! apt runs once, and reaches nobody.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::commands::{contains, succeed};
use serde_json::Value;
use squall_lab::debian::{Cache, KernelName};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::write_program;
use squall_tools::Failure;

pub const TESTS: &[Test] = tests![
    a_missing_apt_or_dpkg_is_reported,
    unwritable_directories_are_reported,
    an_unknown_kernel_is_a_wrong_argument,
    an_empty_cache_says_what_to_run,
    everything_is_fetched_once,
    qemu_is_run_by_its_own_loader,
    only_the_tools_that_guests_use_are_kept,
    only_the_files_of_nginx_that_guests_use_are_kept,
    dependencies_of_util_linux_are_not_fetched,
    tools_from_another_list_are_fetched_again,
    kernels_of_both_layouts_are_understood,
    headers_need_no_other_tree,
    packages_without_headers_are_refused,
    the_compilers_become_a_root_directory,
    an_update_fetches_what_is_newer,
    an_update_compares_every_package,
    a_damaged_item_is_reported_and_an_update_repairs_it,
    a_full_disk_leaves_the_old_items,
    a_missing_package_is_reported_by_name,
    packages_without_a_kernel_are_refused,
    the_staging_area_of_a_killed_run_is_removed,
    two_runs_do_not_disturb_each_other,
    offline_a_run_ends_and_says_what_it_wanted,
];

const APT_GET: &str = r#"#!/bin/sh
echo "$*" >> "$FAKE/log"
archives=.
for word; do case $word in Dir::Cache::archives=*) archives=${word#*=} ;; esac; done
case " $* " in
*" indextargets "*) echo http://mirror.invalid/debian/ ;;
*" download "* | *" install "*)
    for word; do case $word in
    Dir::*) ;;
    *=*) cp -r "$FAKE/archive/${word%%=*}_${word#*=}_amd64.deb" "$archives" || exit 100 ;;
    esac; done ;;
esac
"#;

const APT_CACHE: &str = r#"#!/bin/sh
[ "$1" = --version ] && exit
for word; do :; done
[ -e "$FAKE/archive/${word%/*}" ] && exec cat "$FAKE/archive/${word%/*}"
echo 'E: No packages found' >&2
exit 100
"#;

const DPKG_DEB: &str = r#"#!/bin/sh
case $1 in
--show)
    name=${2##*/}
    version=${name#*_}
    printf '%s\t%s\n' "${name%%_*}" "${version%%_*}" ;;
--extract)
    if [ -e "$FAKE/full" ]; then
        echo 'tar: ./x: Cannot write: No space left on device' >&2
        echo 'dpkg-deb: error: tar subprocess returned error exit status 2' >&2
        exit 2
    fi
    cp -r "$2/." "$3" ;;
esac
"#;

/// Packages of the tools, and their files.
const TOOLS: [(&str, &[&str]); 10] = [
    (
        "busybox-static",
        &[
            "usr/bin/busybox",
            "usr/lib/x86_64-linux-gnu/gconv/KOI8-R.so",
            "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "usr/lib/x86_64-linux-gnu/libssl.so.3",
            "usr/lib64/ld-linux-x86-64.so.2",
            "usr/share/doc/busybox-static/copyright",
        ],
    ),
    (
        "cryptsetup",
        &[
            "usr/lib/cryptsetup/functions",
            "usr/sbin/cryptdisks_start",
            "usr/sbin/cryptdisks_stop",
        ],
    ),
    ("cryptsetup-bin", &["usr/sbin/cryptsetup"]),
    ("dash", &["usr/bin/dash", "usr/bin/sh"]),
    ("dmsetup", &["usr/sbin/dmsetup"]),
    (
        "kmod",
        &[
            "usr/bin/kmod",
            "usr/lib/modprobe.d/a.conf",
            "usr/sbin/depmod",
            "usr/sbin/insmod",
            "usr/sbin/lsmod",
            "usr/sbin/modinfo",
            "usr/sbin/modprobe",
            "usr/sbin/rmmod",
        ],
    ),
    ("systemd-standalone-sysusers", &["usr/bin/systemd-sysusers"]),
    (
        "sysvinit-utils",
        &["usr/lib/init/vars.sh", "usr/lib/lsb/init-functions"],
    ),
    (
        "udev",
        &[
            "usr/bin/udevadm",
            "usr/lib/systemd/systemd-udevd",
            "usr/lib/udev/hwdb.d/20-OUI.hwdb",
            "usr/lib/udev/rules.d/60-block.rules",
        ],
    ),
    (
        "util-linux",
        &["usr/bin/su", "usr/sbin/blkid", "usr/sbin/mkswap"],
    ),
];

/// Packages of nginx, and their files.
const NGINX: [(&str, &[&str]); 9] = [
    ("nginx", &["usr/sbin/nginx"]),
    (
        "libc6",
        &[
            "usr/lib/x86_64-linux-gnu/gconv/KOI8-R.so",
            "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "usr/lib64/ld-linux-x86-64.so.2",
        ],
    ),
    ("libcrypt1", &["usr/lib/x86_64-linux-gnu/libcrypt.so.1"]),
    ("libgcc-s1", &["usr/lib/x86_64-linux-gnu/libgcc_s.so.1"]),
    (
        "libpcre2-8-0",
        &["usr/lib/x86_64-linux-gnu/libpcre2-8.so.0"],
    ),
    ("libssl3t64", &["usr/lib/x86_64-linux-gnu/libssl.so.3"]),
    ("libzstd1", &["usr/lib/x86_64-linux-gnu/libzstd.so.1"]),
    ("openssl", &["usr/bin/c_rehash", "usr/bin/openssl"]),
    ("zlib1g", &["usr/lib/x86_64-linux-gnu/libz.so.1"]),
];

/// Packages of the compilers, and their files.
const COMPILER: [(&str, &[&str]); 9] = [
    (
        "gcc-14",
        &[
            "usr/bin/x86_64-linux-gnu-gcc-14",
            "usr/libexec/gcc/x86_64-linux-gnu/14/lto1",
            "usr/share/doc/gcc-14/copyright",
        ],
    ),
    ("coreutils", &["usr/bin/cat"]),
    ("dash", &["usr/bin/dash", "usr/bin/sh"]),
    ("gawk", &["usr/bin/gawk"]),
    ("gcc-12", &["usr/bin/gcc-12"]),
    ("grep", &["usr/bin/grep"]),
    (
        "libelf1t64",
        &[
            "usr/lib/x86_64-linux-gnu/libelf.so.1",
            "usr/lib64/ld-linux-x86-64.so.2",
        ],
    ),
    ("make", &["usr/bin/make"]),
    ("sed", &["usr/bin/sed"]),
];

/// A directory with an archive, the scripts that fetch from it, and a cache; removed on drop.
struct Workspace {
    directory: PathBuf,
}

impl Workspace {
    fn new(name: &str) -> Workspace {
        let name = format!("squall-lab-deps-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("bin")).expect("a directory");
        fs::create_dir_all(directory.join("archive")).expect("a directory");
        Workspace { directory }
    }

    /// A workspace with all scripts and all packages.
    fn full(name: &str) -> Workspace {
        let workspace = Workspace::new(name);
        workspace.program("apt-get", APT_GET);
        workspace.program("apt-cache", APT_CACHE);
        workspace.program("dpkg-deb", DPKG_DEB);
        workspace.qemu("1");
        workspace.programs("1");
        let (meta, image) = ("linux-image-amd64", "linux-image-6.1-amd64");
        workspace.package(meta, "6.1-1", &format!("{image} (= 6.1-1)"), &[]);
        let files = [
            "boot/vmlinuz-6.1-amd64",
            "lib/modules/6.1-amd64/kernel/drivers/md/dm-crypt.ko",
            "lib/modules/6.1-amd64/kernel/drivers/gpu/drm/radeon.ko",
        ];
        workspace.package(
            image,
            "6.1-1",
            "kmod, linux-base (>= 4), dracut | x",
            &files,
        );
        let meta = "linux-image-cloud-amd64";
        workspace.package(meta, "7-1", "linux-image-7 (= 7-1)", &[]);
        let needed = "dracut | x, linux-base-7 (= 7-1), linux-binary-7, linux-modules-7";
        workspace.package("linux-image-7", "7-1", needed, &[]);
        let files = ["usr/lib/modules/7/modules.builtin"];
        workspace.package("linux-base-7", "7-1", "", &files);
        let files = ["usr/lib/modules/7/vmlinuz"];
        workspace.package("linux-binary-7", "7-1", "linux-base-7", &files);
        let files = ["usr/lib/modules/7/kernel/drivers/ptp/ptp_vmclock.ko.xz"];
        workspace.package("linux-modules-7", "7-1", "kmod, linux-base-7", &files);
        workspace.headers("linux-headers-amd64", "6.1-amd64", "6.1-1");
        workspace.headers("linux-headers-cloud-amd64", "7", "7-1");
        workspace
    }

    /// The headers of the kernel `release`, on which `meta` depends.
    fn headers(&self, meta: &str, release: &str, version: &str) {
        let [own, common, kbuild] = [
            format!("linux-headers-{release}"),
            format!("linux-headers-{release}-common"),
            format!("linux-kbuild-{release}"),
        ];
        self.package(meta, version, &format!("{own} (= {version})"), &[]);
        let needed = format!("{common} (= {version}), {kbuild}, linux-image-{release}, gcc-14");
        let files =
            ["Makefile", "Module.symvers", "vmlinux"].map(|file| format!("usr/src/{own}/{file}"));
        self.package(
            &own,
            version,
            &needed,
            &files.each_ref().map(String::as_str),
        );
        let file = format!("usr/src/{common}/Makefile");
        self.package(&common, version, "", &[&file]);
        let file = format!("usr/lib/{kbuild}/scripts/modpost");
        self.package(&kbuild, version, "libc6", &[&file]);
        let archive = self.path("archive");
        let link = |package: &str, link: String, target: String| {
            let link = archive
                .join(format!("{package}_{version}_amd64.deb"))
                .join(link);
            fs::create_dir_all(link.parent().expect("a parent")).expect("a directory");
            symlink(target, link).expect("a link");
        };
        for package in [&own, &common] {
            let target = format!("../../lib/{kbuild}/scripts");
            link(package, format!("usr/src/{package}/scripts"), target);
        }
        link(
            &kbuild,
            format!("usr/src/{kbuild}"),
            format!("../lib/{kbuild}"),
        );
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn program(&self, name: &str, text: &str) {
        write_program(&self.path("bin").join(name), text);
    }

    fn package(&self, name: &str, version: &str, depends: &str, files: &[&str]) {
        let archive = self.path("archive");
        let stanza = format!("Package: {name}\nVersion: {version}\nDepends: {depends}\n");
        fs::write(archive.join(name), stanza).expect("a stanza");
        let content = archive.join(format!("{name}_{version}_amd64.deb"));
        fs::create_dir_all(&content).expect("a package");
        for file in files {
            let path = content.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, name).expect("a file");
        }
    }

    fn qemu(&self, version: &str) {
        let files = [
            "usr/bin/qemu-system-x86_64",
            "usr/bin/passwd",
            "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "usr/share/qemu/keymaps/de",
            "usr/share/seabios/bios.bin",
        ];
        self.package("qemu-system-x86", version, "libc6 (>= 2)", &files);
    }

    fn programs(&self, version: &str) {
        for (name, files) in TOOLS.into_iter().chain(NGINX).chain(COMPILER) {
            self.package(name, version, "libc6 (>= 2)", files);
        }
    }

    fn cache(&self) -> Cache {
        Cache::open(Some(&self.path("cache"))).expect("a cache")
    }

    /// `squall-lab deps` with `arguments`, split at blanks, and the test's scripts first in PATH.
    fn deps(&self, arguments: &str) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        self.deps_with_path(arguments, &path)
    }

    fn deps_with_path(&self, arguments: &str, path: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall-lab"));
        command
            .arg("deps")
            .args(arguments.split_whitespace())
            .env("PATH", path)
            .env("FAKE", &self.directory)
            .env("SQUALL_LAB_CACHE", self.path("cache"))
            .stdin(Stdio::null());
        command
    }

    /// Number of requests to apt since this was last called.
    fn requests(&self) -> usize {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        let _ = fs::remove_file(self.path("log"));
        log.lines().count()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The last line of a run that fails, which must be its only error.
#[track_caller]
fn fail(mut command: Command) -> String {
    complaint(&command.output().expect("the command runs"))
}

#[track_caller]
fn complaint(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(output.stdout.is_empty());
    let is_failure = |line: &&str| line.starts_with("squall-lab: ");
    assert_eq!(errors.lines().filter(is_failure).count(), 1, "{errors}");
    let last = errors.lines().next_back().expect("a line");
    assert!(is_failure(&last), "{errors}");
    last.to_owned()
}

fn message<T>(result: Result<T, Failure>) -> String {
    match result {
        Err(Failure::Runtime(message)) => message,
        _ => panic!("it does not fail"),
    }
}

fn a_missing_apt_or_dpkg_is_reported() {
    let workspace = Workspace::new("missing");
    let bin = workspace.path("bin");
    let path = bin.to_str().expect("a path");
    contains(
        &fail(workspace.deps_with_path("", path)),
        &["apt-get is missing"],
    );
    workspace.program("apt-get", APT_GET);
    workspace.program("apt-cache", APT_CACHE);
    contains(
        &fail(workspace.deps_with_path("", path)),
        &["dpkg-deb is missing"],
    );
    assert!(!workspace.path("cache").exists());
}

fn unwritable_directories_are_reported() {
    let workspace = Workspace::full("places");
    for place in ["/dev/null/cache", "/proc/squall-lab"] {
        contains(&fail(workspace.deps(&format!("--cache {place}"))), &[place]);
    }
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/cache");
    let refused = fail(workspace.deps(&format!("--cache {sources}")));
    contains(&refused, &[sources, "source tree"]);
    assert!(!Path::new(sources).exists());
}

fn an_unknown_kernel_is_a_wrong_argument() {
    let workspace = Workspace::new("argument");
    let output = workspace
        .deps("--only 6.2")
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    contains(&errors, &["--only", "\"6.2\"", "6.1, 6.12, newest"]);
}

fn an_empty_cache_says_what_to_run() {
    let workspace = Workspace::new("empty");
    fs::create_dir(workspace.path("cache")).expect("a directory");
    let cache = workspace.cache();
    let place = workspace.path("cache");
    let place = place.to_str().expect("a path");
    contains(&message(cache.qemu()), &[place, "QEMU", "make lab-deps"]);
    contains(&message(cache.tools()), &[place, "tools", "make lab-deps"]);
    contains(&message(cache.nginx()), &[place, "nginx", "make lab-deps"]);
    for name in KernelName::ALL {
        let expected = [place, name.name(), "make lab-deps"];
        contains(&message(cache.kernel(name)), &expected);
        contains(&message(cache.headers(name)), &expected);
    }
    contains(
        &message(cache.compiler()),
        &[place, "compiler", "make lab-deps"],
    );
}

fn everything_is_fetched_once() {
    let workspace = Workspace::full("fetch");
    let first = succeed(workspace.deps(""));
    let lines: Vec<_> = first.lines().collect();
    assert_eq!(lines.len(), 10, "{first}");
    contains(lines[0], &["QEMU", " 1 ", "cache/qemu", "1 MiB"]);
    contains(lines[1], &["tools", " 1 ", "cache/tools", "1 MiB"]);
    contains(lines[2], &["nginx", " 1 ", "cache/nginx", "1 MiB"]);
    contains(lines[3], &["compiler", " 1 ", "cache/compiler", "1 MiB"]);
    contains(lines[4], &["kernel 6.1 ", " 6.1-1 ", "cache/kernels/6.1"]);
    contains(lines[5], &["headers 6.1 ", " 6.1-1 ", "cache/headers/6.1"]);
    contains(lines[6], &["kernel 6.12 ", " 7-1 ", "cache/kernels/6.12"]);
    contains(lines[7], &["headers 6.12 ", " 7-1 ", "cache/headers/6.12"]);
    contains(
        lines[8],
        &["kernel newest ", " 7-1 ", "cache/kernels/newest"],
    );
    contains(
        lines[9],
        &["headers newest ", " 7-1 ", "cache/headers/newest"],
    );
    assert!(!workspace.path("cache/part").exists());
    // Nothing is requested, because no apt can be found.
    assert_eq!(succeed(workspace.deps_with_path("", "")), first);
}

fn qemu_is_run_by_its_own_loader() {
    let workspace = Workspace::full("qemu");
    succeed(workspace.deps("--only newest"));
    let tree = workspace.path("cache/qemu");
    let qemu = workspace.cache().qemu().expect("QEMU");
    let libraries = tree.join("usr/lib/x86_64-linux-gnu");
    assert_eq!(qemu.version, "1");
    assert_eq!(qemu.program, libraries.join("ld-linux-x86-64.so.2"));
    let expected = [
        "--library-path".into(),
        format!("{}:{}", libraries.display(), tree.join("usr/lib").display()).into(),
        tree.join("usr/bin/qemu-system-x86_64").into_os_string(),
        "-L".into(),
        tree.join("usr/share/seabios").into(),
        "-L".into(),
        tree.join("usr/share/qemu").into(),
    ];
    assert_eq!(qemu.first_arguments, expected);
    assert!(!tree.join("usr/bin/passwd").exists());
}

fn only_the_tools_that_guests_use_are_kept() {
    let workspace = Workspace::full("tools");
    succeed(workspace.deps("--only newest"));
    let cache = workspace.cache();
    let tools = cache.tools().expect("tools");
    assert_eq!(tools.directory(), workspace.path("cache/tools"));
    let is_there = |path| tools.directory().join(path).exists();
    for kept in ["usr/sbin/cryptsetup", "usr/lib/udev/rules.d"] {
        assert!(is_there(kept), "{kept}");
    }
    let libraries = "usr/lib/x86_64-linux-gnu";
    for removed in [
        "usr/share",
        "usr/bin/su",
        "usr/lib/udev/hwdb.d",
        &format!("{libraries}/gconv"),
        &format!("{libraries}/libssl.so.3"),
    ] {
        assert!(!is_there(removed), "{removed}");
    }
}

fn only_the_files_of_nginx_that_guests_use_are_kept() {
    let workspace = Workspace::full("nginx");
    succeed(workspace.deps("--only newest"));
    let cache = workspace.cache();
    let nginx = cache.nginx().expect("nginx");
    assert_eq!(nginx.version, "1");
    assert_eq!(nginx.directory(), workspace.path("cache/nginx"));
    let is_there = |path| nginx.directory().join(path).exists();
    let libraries = "usr/lib/x86_64-linux-gnu";
    let (kept, removed) = (
        format!("{libraries}/libssl.so.3"),
        format!("{libraries}/gconv"),
    );
    for kept in ["usr/sbin/nginx", "usr/bin/openssl", &kept] {
        assert!(is_there(kept), "{kept}");
    }
    for removed in ["usr/bin/c_rehash", &removed] {
        assert!(!is_there(removed), "{removed}");
    }
    let log = fs::read_to_string(workspace.path("log")).expect("a log");
    let asked = log.lines().find(|line| line.contains("nginx=1"));
    contains(asked.expect("a request"), &["download nginx=1 libc6=1"]);
}

fn dependencies_of_util_linux_are_not_fetched() {
    let workspace = Workspace::full("alone");
    succeed(workspace.deps("--only newest"));
    let log = fs::read_to_string(workspace.path("log")).expect("a log");
    let asking = |word| {
        let mut lines = log.lines().filter(move |line| line.contains(word));
        lines.next_back().expect("a request")
    };
    contains(asking("download util-linux"), &["util-linux=1"]);
    contains(asking("udev="), &["--download-only", "cryptsetup=1"]);
    assert!(!asking("udev=").contains("util-linux"));
}

fn tools_from_another_list_are_fetched_again() {
    let workspace = Workspace::full("list");
    let first = succeed(workspace.deps("--only 6.1"));
    let tree = workspace.path("cache/tools");
    let record = tree.join("record.json");
    let text = fs::read_to_string(&record).expect("a record");
    let mut older: Value = serde_json::from_str(&text).expect("a record");
    let lists: [fn(&mut Value); 2] = [
        |record| drop(record.as_object_mut().expect("an object").remove("list")),
        |record| drop(record["list"].as_array_mut().expect("an array").pop()),
    ];
    for change in lists {
        change(&mut older);
        fs::write(&record, older.to_string()).expect("a record");
        fs::remove_file(tree.join("usr/bin/udevadm")).expect("a program");
        let place = tree.to_str().expect("a path");
        let expected = [
            place,
            "made for another version of the lab",
            "make lab-deps",
        ];
        contains(&message(workspace.cache().tools()), &expected);
        workspace.requests();
        assert_eq!(succeed(workspace.deps("--only 6.1")), first);
        assert_ne!(workspace.requests(), 0);
        assert!(workspace.cache().tools().is_ok());
        assert_eq!(fs::read_to_string(&record).expect("a record"), text);
        older = serde_json::from_str(&text).expect("a record");
    }
    succeed(workspace.deps("--only 6.1"));
    assert_eq!(workspace.requests(), 0);
}

fn kernels_of_both_layouts_are_understood() {
    let workspace = Workspace::full("kernels");
    succeed(workspace.deps("--only 6.1 newest"));
    let cache = workspace.cache();
    let old = cache.kernel(KernelName::V6_1).expect("a kernel");
    assert_eq!(old.release, "6.1-amd64");
    assert_eq!(old.package_version, "6.1-1");
    assert!(old.image.is_file());
    let module = old.module("dm_crypt").expect("a module");
    assert!(module.ends_with("modules/kernel/drivers/md/dm-crypt.ko"));
    assert_eq!(old.module("radeon"), None);
    let new = cache.kernel(KernelName::Newest).expect("a kernel");
    assert_eq!(new.release, "7");
    assert!(new.image.is_file());
    let module = new.module("ptp_vmclock").expect("a module");
    assert!(module.ends_with("ptp_vmclock.ko.xz") && module.is_file());
    assert_eq!(new.module("ptp"), None);
    contains(&message(cache.kernel(KernelName::V6_12)), &["lab-deps"]);
}

fn headers_need_no_other_tree() {
    let workspace = Workspace::full("headers");
    succeed(workspace.deps("--only 6.1 newest"));
    let cache = workspace.cache();
    for (kernel, release) in [(KernelName::V6_1, "6.1-amd64"), (KernelName::Newest, "7")] {
        let headers = cache.headers(kernel).expect("headers");
        assert_eq!(headers.release, release);
        assert_eq!(headers.name(), format!("linux-headers-{release}"));
        for name in [headers.name(), headers.name() + "-common"] {
            let directory = headers.directory().join(name);
            assert!(directory.join("Makefile").is_file());
            assert!(directory.join("scripts/modpost").is_file());
            assert!(!directory.join("vmlinux").exists());
        }
    }
}

fn packages_without_headers_are_refused() {
    let workspace = Workspace::full("headerless");
    let package = workspace.path("archive/linux-headers-7_7-1_amd64.deb");
    fs::remove_file(package.join("usr/src/linux-headers-7/Module.symvers")).expect("a file");
    let line = fail(workspace.deps("--only newest"));
    contains(&line, &["have no headers"]);
    assert!(!workspace.path("cache/headers/newest").exists());
}

fn the_compilers_become_a_root_directory() {
    let workspace = Workspace::full("compiler");
    succeed(workspace.deps("--only newest"));
    let root = workspace.cache().compiler().expect("compilers");
    assert_eq!(root, workspace.path("cache/compiler"));
    for there in [
        "bin/gcc-12",
        "lib64/ld-linux-x86-64.so.2",
        "bin/awk",
        "usr/src",
    ] {
        assert!(root.join(there).exists(), "{there}");
    }
    let lto = "usr/libexec/gcc/x86_64-linux-gnu/14/lto1";
    for removed in ["usr/share", lto] {
        assert!(!root.join(removed).exists(), "{removed}");
    }
}

fn an_update_fetches_what_is_newer() {
    let workspace = Workspace::full("update");
    succeed(workspace.deps("--only 6.1"));
    workspace.requests();
    workspace.qemu("2");
    fs::remove_dir_all(workspace.path("archive/qemu-system-x86_1_amd64.deb")).expect("a package");
    succeed(workspace.deps("--only 6.1"));
    assert_eq!(workspace.cache().qemu().expect("QEMU").version, "1");
    assert_eq!(workspace.requests(), 0);
    succeed(workspace.deps("--only 6.1 --update"));
    assert_eq!(workspace.cache().qemu().expect("QEMU").version, "2");
    // Requests: a version check, the mirror, two releases' lists, and QEMU.
    assert_eq!(workspace.requests(), 5);
    assert!(!workspace.path("cache/part").exists());
}

fn an_update_compares_every_package() {
    let workspace = Workspace::full("packages");
    succeed(workspace.deps("--only 6.1"));
    let shell = workspace.path("cache/tools/usr/bin/sh");
    for (version, same) in [("1", true), ("2", false)] {
        workspace.package("dash", version, "", &["usr/bin/dash", "usr/bin/sh"]);
        fs::write(&shell, "changed").expect("a file");
        succeed(workspace.deps("--only 6.1 --update"));
        let text = fs::read_to_string(&shell).expect("a file");
        assert_eq!(text == "changed", same, "{version}");
    }
}

fn a_damaged_item_is_reported_and_an_update_repairs_it() {
    let workspace = Workspace::full("damaged");
    succeed(workspace.deps("--only 6.1"));
    let tree = workspace.path("cache/kernels/6.1");
    let faults: [fn(&Path); 4] = [
        |tree| fs::write(tree.join("record.json"), "{").expect("a record"),
        |tree| fs::write(tree.join("record.json"), "").expect("a record"),
        |tree| fs::remove_file(tree.join("record.json")).expect("a record"),
        |tree| fs::remove_file(tree.join("vmlinuz")).expect("an image"),
    ];
    for fault in faults {
        fault(&tree);
        let expected = [tree.to_str().expect("a path"), "squall-lab deps --update"];
        contains(&fail(workspace.deps("--only 6.1")), &expected);
        contains(
            &message(workspace.cache().kernel(KernelName::V6_1)),
            &expected,
        );
        succeed(workspace.deps("--only 6.1 --update"));
        assert!(workspace.cache().kernel(KernelName::V6_1).is_ok());
    }
}

fn a_full_disk_leaves_the_old_items() {
    let workspace = Workspace::full("full");
    succeed(workspace.deps("--only 6.1"));
    workspace.qemu("2");
    fs::remove_dir_all(workspace.path("archive/qemu-system-x86_1_amd64.deb")).expect("a package");
    fs::write(workspace.path("full"), "").expect("a file");
    let line = fail(workspace.deps("--update"));
    contains(&line, &["dpkg-deb: ", "No space left on device"]);
    assert_eq!(workspace.cache().qemu().expect("QEMU").version, "1");
    contains(
        &message(workspace.cache().kernel(KernelName::V6_12)),
        &["lab-deps"],
    );
    assert!(!workspace.path("cache/part").exists());
    assert!(!workspace.path("cache/kernels/6.12").exists());
}

fn a_missing_package_is_reported_by_name() {
    let workspace = Workspace::full("absent");
    fs::remove_file(workspace.path("archive/linux-binary-7")).expect("a stanza");
    let line = fail(workspace.deps("--only newest"));
    contains(&line, &["linux-binary-7 is not in trixie-backports"]);
    assert!(!workspace.path("cache/kernels/newest").exists());
}

fn packages_without_a_kernel_are_refused() {
    let workspace = Workspace::full("kernelless");
    let package = workspace.path("archive/linux-binary-7_7-1_amd64.deb");
    fs::remove_dir_all(package.join("usr")).expect("a package");
    contains(&fail(workspace.deps("--only newest")), &["have no kernel"]);
    assert!(!workspace.path("cache/kernels/newest").exists());
}

fn the_staging_area_of_a_killed_run_is_removed() {
    let workspace = Workspace::full("killed");
    let left = workspace.path("cache/part/tree/usr");
    fs::create_dir_all(&left).expect("a directory");
    succeed(workspace.deps("--only 6.1"));
    assert!(!left.exists());
}

fn two_runs_do_not_disturb_each_other() {
    let workspace = Workspace::full("lock");
    fs::create_dir(workspace.path("cache")).expect("a directory");
    let lock = File::create(workspace.path("cache/lock")).expect("a file");
    lock.lock().expect("a lock");
    let mut run = workspace
        .deps("--only 6.1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut errors = BufReader::new(run.stderr.take().expect("a pipe"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    assert_eq!(line, "waiting for another run\n");
    assert!(!workspace.path("cache/qemu").exists());
    lock.unlock().expect("a lock");
    let rest: Vec<_> = errors.lines().collect();
    assert!(run.wait().expect("it ends").success(), "{rest:?}");
    assert!(workspace.cache().qemu().is_ok());
}

/// The real apt, if there is one, with a mirror that does not exist behind a missing proxy.
fn offline_a_run_ends_and_says_what_it_wanted() {
    let there = |program| Command::new(program).arg("--version").output().is_ok();
    if !["apt-get", "apt-cache", "dpkg-deb"].into_iter().all(there) {
        return;
    }
    let workspace = Workspace::new("offline");
    let sources = "deb http://mirror.invalid/debian bookworm main\n";
    fs::write(workspace.path("sources.list"), sources).expect("a file");
    let directory = workspace.directory.display();
    let configuration = format!(
        "Dir::Etc::main \"/dev/null\";\nDir::Etc::parts \"{directory}/archive\";\n\
         Dir::Etc::sourcelist \"{directory}/sources.list\";\n\
         Dir::Etc::sourceparts \"{directory}/archive\";\nDir::State \"{directory}\";\n"
    );
    fs::write(workspace.path("apt.conf"), configuration).expect("a file");
    let mut command = workspace.deps_with_path("", &std::env::var("PATH").expect("a path"));
    command
        .env("APT_CONFIG", workspace.path("apt.conf"))
        .env("http_proxy", "http://127.0.0.1:9")
        .env_remove("no_proxy");
    let line = fail(command);
    contains(&line, &["bookworm and bookworm-backports", "127.0.0.1:9"]);
    assert!(!workspace.path("cache/kernels").exists());
    assert!(!workspace.path("cache/part").exists());
}
