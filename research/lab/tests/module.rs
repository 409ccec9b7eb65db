//! The kernel module that shows vmgenid's page, in guests: what it shows and refuses, that it changes in place, and
//! that who uses the page keeps the module and disturbs nothing. [`firmware`] tests that it does not believe bad
//! firmware.

pub mod firmware;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use squall_guests::commands::contains;
use squall_guests::debian::{Cache, KernelName};
use squall_guests::fixture::{self, TIMEOUT, fails, ok, required, wait_until_ok};
use squall_guests::needs::{C_COMPILER, GUESTS, MODULE as MODULES};
use squall_guests::{Guest, Job, Setup, Snapshot};
use squall_testing::suite::Test;
use squall_testing::tests;

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

/// The module's file in a guest.
pub const MODULE: &str = "/root/squall_vmgenid.ko";

/// An identity as QEMU takes it, and as it stands in memory: its first three parts are little-endian.
const IDENTITY: &str = "01234567-89ab-cdef-0123-456789abcdef";
const IN_MEMORY: &str = "67452301ab89efcd0123456789abcdef";

/// A kernel, its module, and a program that uses the module's device.
pub struct Workspace {
    guests: fixture::Workspace,
    module: Vec<u8>,
    program: PathBuf,
}

impl Workspace {
    pub fn new(kernel: KernelName) -> Workspace {
        Workspace::with(kernel, "")
    }

    /// The same with a module that shows a copy of the page.
    pub fn with_copy(kernel: KernelName) -> Workspace {
        Workspace::with(kernel, "COPY=1")
    }

    fn with(kernel: KernelName, variable: &str) -> Workspace {
        let guests = fixture::Workspace::with_kernel(kernel);
        let (program, module) = (guests.path("vmgenid"), guests.path("squall_vmgenid.ko"));
        squall_guests::c_program("vmgenid", &program).expect("a program");
        let cache = required(Cache::open(None));
        squall_guests::module(&cache, kernel, "squall_vmgenid", variable, &module)
            .expect("a module");
        Workspace {
            guests,
            module: fs::read(module).expect("a module"),
            program,
        }
    }

    /// Boots a guest that has a vmgenid device with [`IDENTITY`]. The module is not loaded.
    pub fn boot(&self) -> Guest<'_> {
        self.boot_with(Some(IDENTITY), Vec::new())
    }

    /// Boots a guest with this identity, if any, and these ACPI tables.
    pub fn boot_with(&self, vmgenid: Option<&str>, tables: Vec<PathBuf>) -> Guest<'_> {
        let programs = [self.program.as_path(), fixture::squall()];
        let setup = setup(&programs, vmgenid, tables);
        let mut guest = self.guests.factory.boot(&setup).expect("a guest");
        guest.write_file(MODULE, &self.module).expect("a file");
        guest
    }

    /// A guest in which the module is loaded.
    pub fn boot_and_load(&self) -> Guest<'_> {
        let mut guest = self.boot();
        ok(&mut guest, &format!("insmod {MODULE}"));
        guest
    }

    /// Resumes a guest of [`Workspace::boot`] with this identity.
    pub fn resume(&self, snapshot: &Snapshot, identity: &str) -> Guest<'_> {
        let programs = [self.program.as_path(), fixture::squall()];
        let setup = setup(&programs, Some(identity), Vec::new());
        self.guests
            .factory
            .resume(&setup, snapshot)
            .expect("a guest")
    }

    /// The path of a file that is removed with the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.guests.path(name)
    }
}

fn setup<'a>(
    programs: &'a [&'a std::path::Path],
    vmgenid: Option<&'a str>,
    acpi_tables: Vec<PathBuf>,
) -> Setup<'a> {
    Setup {
        programs,
        vmgenid,
        acpi_tables,
        // Programs use the module while it is loaded and unloaded.
        cpus: 2,
        ..Setup::default()
    }
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

/// Fails if the kernel has complained about itself.
#[track_caller]
pub fn is_sound(guest: &mut Guest) {
    let log = ok(guest, "dmesg");
    for complaint in ["BUG:", "WARNING:", "Oops", "Bad page"] {
        assert!(!log.contains(complaint), "{log}");
    }
}

/// Another identity, and how it stands in memory. It is not the complement of the first one, because squall XORs the two
/// words of an identity, and complements give the same result.
const OTHER: &str = "fedcba98-7654-3210-fedc-ba9876543211";
const OTHER_IN_MEMORY: &str = "98badcfe54761032fedcba9876543211";

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
    let workspace = Workspace::new(kernel);
    let mut guest = workspace.boot_and_load();
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
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot_with(None, Vec::new());
    let refused = fails(&mut guest, &format!("insmod {MODULE}"));
    contains(&refused, &["No such device"]);
    assert_eq!(log(&mut guest), [""; 0]);
}

/// Begins to watch the page, and gives the guest another identity while it is stopped.
fn watch<'a>(workspace: &'a Workspace) -> (Guest<'a>, Job) {
    let mut guest = workspace.boot_and_load();
    let job = guest.start("vmgenid watch | tee /tmp/seen").expect("a job");
    wait_until_ok(&mut guest, "grep -q before /tmp/seen");
    guest
        .start("squall clones --once > /tmp/clones")
        .expect("a job");
    wait_until_ok(&mut guest, "grep -q 'signal vmgenid-page' /tmp/clones");
    let snapshot = guest.snapshot(workspace.path("snapshot"));
    let snapshot = snapshot.expect("a snapshot");
    let same = workspace.resume(&snapshot, IDENTITY);
    assert_unchanged(same, job);
    (workspace.resume(&snapshot, OTHER), job)
}

/// Nothing changes with the stop alone.
fn assert_unchanged(mut guest: Guest, job: Job) {
    assert_eq!(ok(&mut guest, "vmgenid id"), shown(IN_MEMORY));
    let output = guest.finish(job, Duration::from_secs(1));
    assert_eq!(output.expect("an answer"), None);
    assert_eq!(ok(&mut guest, "wc -l < /tmp/clones"), "1\n");
}

fn an_open_mapping_shows_the_new_identity_and_watches_wake_up() {
    let workspace = Workspace::new(KernelName::V6_12);
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
    let workspace = Workspace::with_copy(KernelName::V6_12);
    let (mut guest, job) = watch(&workspace);
    contains(&log(&mut guest)[0], &["shows a copy of the page"]);
    assert_unchanged(guest, job);
}

fn unprivileged_users_get_errors_or_the_right_bytes() {
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot_and_load();
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
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot_and_load();
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
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot_and_load();
    let job = guest.start("vmgenid hold 1 > /tmp/said").expect("a job");
    wait_until_ok(&mut guest, "grep -q held /tmp/said");
    let driver = "cd /sys/bus/*/drivers/vmgenid && device=$(echo QEMUVGID:*)";
    ok(
        &mut guest,
        &format!("{driver} && echo $device > unbind && [ ! -e $device ]"),
    );
    let id = format!("read {IN_MEMORY}\nmapped {IN_MEMORY}\noffset 40\n");
    assert_eq!(ok(&mut guest, "vmgenid id"), id);
    guest.kill(job).expect("an end");
    wait_until_ok(&mut guest, "rmmod squall_vmgenid");
    is_sound(&mut guest);
}

fn the_module_is_loaded_and_unloaded_under_load() {
    let workspace = Workspace::new(KernelName::V6_12);
    let mut guest = workspace.boot();
    let users = "for user in 1 2 3; do \
        while [ ! -e /tmp/end ]; do vmgenid id; vmgenid storm 10 $user; done & done";
    let users = format!("{{ {users}; wait; }} >> /tmp/said 2> /dev/null");
    ok(&mut guest, ": > /tmp/said");
    let job = guest.start(&users).expect("a job");
    // In each turn somebody uses it: each of the three may still have had a line to write.
    let turn = format!(
        "before=$(grep -c offset /tmp/said)
        insmod {MODULE} || exit
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
