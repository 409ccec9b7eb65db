//! The kernel module that shows vmgenid's page, in guests: what it shows and refuses, that it changes in place, and
//! that who uses the page keeps the module and disturbs nothing. [`firmware`] tests that it does not believe bad
//! firmware.

pub mod firmware;

use std::time::Duration;

use squall_guests::commands::contains;
use squall_guests::debian::KernelName;
use squall_guests::fixture::{TIMEOUT, fails, ok, wait_until_ok};
use squall_guests::needs::{C_COMPILER, GUESTS, MODULE as MODULES};
use squall_guests::{Guest, Job};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::kernel_modules::{IDENTITY, OTHER, PAGE, Workspace, is_sound};

pub const TESTS: &[Test] = tests![
    linux_6_1_shows_the_page: [GUESTS, MODULES, C_COMPILER],
    linux_6_12_shows_the_page: [GUESTS, MODULES, C_COMPILER],
    the_newest_linux_shows_the_page: [GUESTS, MODULES, C_COMPILER],
    without_the_device_there_is_no_module: [GUESTS, MODULES, C_COMPILER],
    an_open_mapping_shows_the_new_identity_and_watches_wake_up: [GUESTS, MODULES, C_COMPILER],
    a_copy_never_changes: [GUESTS, MODULES, C_COMPILER],
    unprivileged_users_get_errors_or_the_right_bytes: [GUESTS, MODULES, C_COMPILER],
    open_mappings_keep_the_module_loaded: [GUESTS, MODULES, C_COMPILER],
    the_page_remains_when_the_kernels_driver_is_unbound: [GUESTS, MODULES, C_COMPILER],
    the_module_is_loaded_and_unloaded_under_load: [GUESTS, MODULES, C_COMPILER],
];

/// [`IDENTITY`] and [`OTHER`] as they stand in memory: their first three parts are little-endian.
const IN_MEMORY: &str = "67452301ab89efcd0123456789abcdef";
const OTHER_IN_MEMORY: &str = "98badcfe54761032fedcba9876543211";

/// A kernel with the module, which is built with this variable of make, and a program that uses its device.
pub fn workspace(kernel: KernelName, variable: &str) -> Workspace {
    Workspace::new("vmgenid", kernel, &[(PAGE, variable)])
}

/// A guest in which the module is loaded.
fn boot_and_load(workspace: &Workspace) -> Guest<'_> {
    workspace.boot_and_load(&workspace.setup(Some(IDENTITY)))
}

/// What the module has written to the kernel's log, without the time.
pub fn log(guest: &mut Guest) -> Vec<String> {
    let log = ok(guest, "dmesg");
    let lines = log.lines().filter_map(|line| {
        let (_, output) = line.split_once("squall_vmgenid: ")?;
        // The kernel says itself that this module is not one of its own.
        let is_ours =
            !output.starts_with("loading out-of-tree") && !output.contains("verification");
        is_ours.then(|| output.to_owned())
    });
    lines.collect()
}

/// What the program's `refusals` prints.
const REFUSALS: &str = "\
open to write: EACCES
open to read and write: EACCES
one page: yes
one byte: yes
two pages: EINVAL
the next page: EINVAL
to write: EACCES
to execute: EACCES
no access: EACCES
private: EACCES
private, to write: EACCES
protect to write: EACCES
protect to execute: EACCES
grow: EFAULT
write: EBADF
ioctl: ENOTTY
";

/// What the program's `id` prints where QEMU has put this identity.
fn shown(in_memory: &str) -> String {
    format!("read {in_memory}\nmapped {in_memory}\noffset 40\n")
}

fn shows_the_page(kernel: KernelName) {
    let workspace = workspace(kernel, "");
    let mut guest = boot_and_load(&workspace);
    let output = log(&mut guest);
    assert_eq!(output.len(), 1, "{output:?}");
    contains(
        &output[0],
        &["shows the page with the ID at 0x", "offset 40"],
    );
    assert_eq!(ok(&mut guest, "vmgenid id"), shown(IN_MEMORY));
    assert_eq!(ok(&mut guest, "vmgenid refusals"), REFUSALS);
    let node = ok(&mut guest, "stat -c '%a %F' /dev/squall-vmgenid");
    assert_eq!(node, "444 character special file\n");
    let name = "readlink /sys/dev/char/$(cat /sys/class/misc/squall-vmgenid/dev)";
    contains(&ok(&mut guest, name), &["/misc/squall-vmgenid"]);
    ok(&mut guest, "rmmod squall_vmgenid");
    ok(&mut guest, "[ ! -e /dev/squall-vmgenid ]");
    is_sound(&mut guest);
}

fn linux_6_1_shows_the_page() {
    shows_the_page(KernelName::V6_1);
}

fn linux_6_12_shows_the_page() {
    shows_the_page(KernelName::V6_12);
}

fn the_newest_linux_shows_the_page() {
    shows_the_page(KernelName::Newest);
}

fn without_the_device_there_is_no_module() {
    let workspace = workspace(KernelName::V6_12, "");
    let mut guest = workspace.boot(&workspace.setup(None));
    let refused = fails(&mut guest, &format!("insmod {PAGE}"));
    contains(&refused, &["No such device"]);
    assert_eq!(log(&mut guest), [""; 0]);
}

/// Begins to watch the page, and gives the guest another identity while it is stopped.
fn watch<'a>(workspace: &'a Workspace) -> (Guest<'a>, Job) {
    let mut guest = boot_and_load(workspace);
    let job = guest.start("vmgenid watch | tee /tmp/seen").expect("a job");
    wait_until_ok(&mut guest, "grep -q before /tmp/seen");
    guest
        .start("squall clones --once > /tmp/clones")
        .expect("a job");
    wait_until_ok(&mut guest, "grep -q 'signal vmgenid-page' /tmp/clones");
    let snapshot = guest.snapshot(workspace.path("snapshot"));
    let snapshot = snapshot.expect("a snapshot");
    let same = workspace.resume(&snapshot, Some(IDENTITY));
    assert_unchanged(same, job);
    (workspace.resume(&snapshot, Some(OTHER)), job)
}

/// Nothing changes with the stop alone.
fn assert_unchanged(mut guest: Guest, job: Job) {
    assert_eq!(ok(&mut guest, "vmgenid id"), shown(IN_MEMORY));
    let output = guest.finish(job, Duration::from_secs(1));
    assert_eq!(output.expect("an answer"), None);
    assert_eq!(ok(&mut guest, "wc -l < /tmp/clones"), "1\n");
}

fn an_open_mapping_shows_the_new_identity_and_watches_wake_up() {
    let workspace = workspace(KernelName::V6_12, "");
    let (mut guest, job) = watch(&workspace);
    let output = guest.finish(job, TIMEOUT).expect("an answer");
    let output = output.expect("an end").into_stdout().expect("success");
    let expected =
        format!("before {IN_MEMORY}\nmapped {OTHER_IN_MEMORY}\nread {OTHER_IN_MEMORY}\n");
    assert_eq!(output, expected);
    assert_eq!(ok(&mut guest, "vmgenid id"), shown(OTHER_IN_MEMORY));
    // The device notifies the command, which waits for it.
    wait_until_ok(
        &mut guest,
        "grep -q 'clone: signal vmgenid-page' /tmp/clones",
    );
    is_sound(&mut guest);
}

/// The control: what is seen above is the page.
fn a_copy_never_changes() {
    let workspace = workspace(KernelName::V6_12, "COPY=1");
    let (mut guest, job) = watch(&workspace);
    contains(&log(&mut guest)[0], &["shows a copy of the page"]);
    assert_unchanged(guest, job);
}

fn unprivileged_users_get_errors_or_the_right_bytes() {
    let workspace = workspace(KernelName::V6_12, "");
    let mut guest = boot_and_load(&workspace);
    for seed in [1, 2, 3] {
        let output = ok(&mut guest, &format!("vmgenid storm 1000 {seed}"));
        let numbers: Vec<u32> = output
            .lines()
            .filter_map(|line| line.split_once(' ')?.1.parse().ok())
            .collect();
        let [right, errors] = numbers[..] else {
            panic!("{output}");
        };
        assert_eq!(right + errors, 1000);
        assert!(right > 50 && errors > 50, "{output}");
    }
    is_sound(&mut guest);
}

fn open_mappings_keep_the_module_loaded() {
    let workspace = workspace(KernelName::V6_12, "");
    let mut guest = boot_and_load(&workspace);
    let job = guest.start("vmgenid hold 64 > /tmp/said").expect("a job");
    wait_until_ok(&mut guest, "grep -q held /tmp/said");
    assert_eq!(
        ok(&mut guest, "cat /sys/module/squall_vmgenid/refcnt"),
        "64\n"
    );
    contains(&fails(&mut guest, "rmmod squall_vmgenid"), &["in use"]);
    guest.kill(job).expect("an end");
    wait_until_ok(&mut guest, "rmmod squall_vmgenid");
    is_sound(&mut guest);
}

fn the_page_remains_when_the_kernels_driver_is_unbound() {
    let workspace = workspace(KernelName::V6_12, "");
    let mut guest = boot_and_load(&workspace);
    let job = guest.start("vmgenid hold 1 > /tmp/said").expect("a job");
    wait_until_ok(&mut guest, "grep -q held /tmp/said");
    let driver = "cd /sys/bus/*/drivers/vmgenid && device=$(echo QEMUVGID:*)";
    ok(
        &mut guest,
        &format!("{driver} && echo $device > unbind && [ ! -e $device ]"),
    );
    assert_eq!(ok(&mut guest, "vmgenid id"), shown(IN_MEMORY));
    guest.kill(job).expect("an end");
    wait_until_ok(&mut guest, "rmmod squall_vmgenid");
    is_sound(&mut guest);
}

fn the_module_is_loaded_and_unloaded_under_load() {
    let workspace = workspace(KernelName::V6_12, "");
    let mut guest = workspace.boot(&workspace.setup(Some(IDENTITY)));
    let users = "for user in 1 2 3; do \
        while [ ! -e /tmp/end ]; do vmgenid id; vmgenid storm 10 $user; done & done";
    let users = format!("{{ {users}; wait; }} >> /tmp/said 2> /dev/null");
    ok(&mut guest, ": > /tmp/said");
    let job = guest.start(&users).expect("a job");
    // In each turn somebody uses it: each of the three may still have had a line to write.
    let turn = format!(
        "before=$(grep -c offset /tmp/said)
        insmod {PAGE} || exit
        until [ $(grep -c offset /tmp/said) -gt $((before + 3)) ]; do sleep 0.01; done
        until rmmod squall_vmgenid; do :; done"
    );
    ok(
        &mut guest,
        &format!("for turn in $(seq 30); do {turn}; done 2> /dev/null"),
    );
    ok(&mut guest, "touch /tmp/end");
    guest
        .finish(job, TIMEOUT)
        .expect("an answer")
        .expect("an end");
    assert_eq!(log(&mut guest).len(), 30);
    is_sound(&mut guest);
}
