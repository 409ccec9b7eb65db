//! Targets that somebody else has open, locked or claimed, also where the kernel does not show it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use squall_drives::confirm::Consent;
use squall_drives::guards::claimed_by_others;
use squall_drives::io::{Access, Device, Direct, hold};
use squall_drives::{Checked, Target};
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::{LOOP_DEVICES, MOUNTS};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tool_base::Failure;

use crate::{MIB, WIPE, allowed, find, in_the_end, refused, refused_while, runs, writable};

pub const TESTS: &[Test] = tests![
    a_claim_on_a_drive_or_a_part_of_it_is_noticed_without_writing: [LOOP_DEVICES],
    a_partition_belongs_to_its_drive: [LOOP_DEVICES],
    a_drive_that_somebody_has_locked_is_left_alone: [LOOP_DEVICES],
    a_drive_is_held_by_one: [LOOP_DEVICES],
    a_partition_that_somebody_has_open_is_noticed: [LOOP_DEVICES],
    a_mount_in_another_namespace: [LOOP_DEVICES, MOUNTS],
    the_journal_of_a_mounted_file_system: [LOOP_DEVICES],
    a_device_that_a_process_has_claimed_or_locked: [LOOP_DEVICES],
    a_file_that_a_process_has_open_or_locked,
];

/// What is said of a claim whose owner the kernel does not show.
const CLAIMED: &str = "another process is using it";
const LOCKED: &str = "another process has locked it";

fn read(target: &Target) -> Result<(), Failure> {
    Device::open_to_read(target.clone(), Direct::Auto).map(drop)
}

fn open(target: &Target) -> Result<(), Failure> {
    open_despite(target, || ())
}

/// Opens `target` to write it, with an `obstacle` since it was confirmed.
fn open_despite<T>(target: &Target, obstacle: impl FnOnce() -> T) -> Result<(), Failure> {
    let mut target = target.clone();
    target.has_stable_name = true;
    let (yes, serial) = (true, Vec::new());
    let confirmed = Checked::new(vec![target], WIPE)?.confirm(&Consent { yes, serial })?;
    let _obstacle = obstacle();
    confirmed.open(|_| Access::Write, Direct::Auto).map(drop)
}

#[track_caller]
fn fails(opened: Result<(), Failure>, why: &str) {
    let text = opened.expect_err("a refusal").into_text();
    assert!(text.contains(why), "{text}");
}

/// The device or file at `path`, locked.
fn locked(path: &Path, how: FlockOperation) -> File {
    let theirs = File::open(path).expect("it opens");
    rustix::fs::flock(&theirs, how).expect("a lock");
    theirs
}

/// The device at `path`, opened exclusively, as a mount does it.
fn claimed(path: &Path) -> File {
    let claim = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(path, claim, Mode::empty());
    theirs.expect("it opens").into()
}

/// udev locks a drive while it probes it, and systemd-repart while it makes partitions.
fn a_drive_that_somebody_has_locked_is_left_alone() {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    let target = find(&device.path);
    let lock = || locked(&device.path, FlockOperation::LockExclusive);
    // The kernel lets a device be opened exclusively that another stands on.
    let use_it = || Loop::attach(&[], &device.path);
    in_the_end(|| open(&target));
    fails(open_despite(&target, lock), LOCKED);
    fails(open_despite(&target, use_it), "is held by");
    in_the_end(|| open(&target));
    let theirs = lock();
    fails(read(&target), LOCKED);
    drop(theirs);
    in_the_end(|| read(&target));
}

fn a_drive_is_held_by_one() {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    let [ours, theirs] = [(); 2].map(|()| writable(&device.path));
    assert_eq!(hold(&ours), Ok(()));
    assert_eq!(hold(&theirs), Err(Errno::WOULDBLOCK));
    drop(ours);
    in_the_end(|| hold(&theirs));
}

fn a_partition_that_somebody_has_open_is_noticed() {
    let lab = Lab::new();
    let device = lab.device_with(&["--partscan"], 4 * MIB);
    let part = device.part(1, MIB, MIB);
    let target = find(&device.path);
    let theirs = || File::open(&part.path).expect("it opens");
    fails(open_despite(&target, theirs), CLAIMED);
    in_the_end(|| open(&target));
    // The device's table does not list this partition, so the kernel dropped it.
    assert!(!part.path.exists());
    std::mem::forget(part);
}

/// ZFS, bcachefs and mounts in other namespaces leave no other trace.
fn a_claim_on_a_drive_or_a_part_of_it_is_noticed_without_writing() {
    let lab = Lab::new();
    let device = lab.device_with(&["--partscan"], 4 * MIB);
    let part = device.part(1, MIB, MIB);
    let target = find(&device.path);
    let is_free = || match claimed_by_others(&target) {
        Some(reason) => Err(reason),
        None => Ok(()),
    };
    in_the_end(is_free);
    for path in [&device.path, &part.path] {
        let theirs = claimed(path);
        assert_eq!(is_free(), Err(CLAIMED.to_owned()));
        drop(theirs);
        in_the_end(is_free);
    }
}

/// `--except` may name a drive by a partition.
fn a_partition_belongs_to_its_drive() {
    let lab = Lab::new();
    let [one, two] = [(); 2].map(|()| lab.device_with(&["--partscan"], 4 * MIB));
    let part = one.part(1, MIB, MIB);
    let [one, two, part] = [&one.path, &two.path, &part.path].map(|path| find(path));
    assert!(one.may_be_on_same_drive_as(&part) && one.may_be_on_same_drive_as(&one));
    assert!(!two.may_be_on_same_drive_as(&part) && !two.may_be_on_same_drive_as(&one));
}

/// A mount in a mount namespace of its own, until it is dropped.
struct Hidden(Child);

impl Hidden {
    fn mount(device: &Path, point: &Path) -> Hidden {
        fs::create_dir_all(point).expect("a mount point");
        let script = "mount \"$0\" \"$1\"; echo; read end";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-ec", script]);
        command.args([device, point]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let said = child.stdout.as_mut().expect("a pipe");
        said.read_exact(&mut [0]).expect("it is mounted");
        Hidden(child)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let mut end = self.0.stdin.take().expect("a pipe");
        end.write_all(b"\n").expect("it reads");
        self.0.wait().expect("it ends");
    }
}

fn mkfs(arguments: &[&str], on: &Path) {
    let mut command = Command::new("mke2fs");
    runs(command.arg("-qF").args(arguments).arg(on));
}

fn a_mount_in_another_namespace() {
    let lab = Lab::new();
    let device = lab.device(8 * MIB);
    let part = device.part(1, MIB, 4 * MIB);
    for path in [&part.path, &device.path] {
        mkfs(&[], path);
        refused_while(&device.path, &[CLAIMED], || {
            let mount = Hidden::mount(path, &lab.path("hidden"));
            refused(path, &[CLAIMED]);
            mount
        });
        allowed(path);
    }
}

fn the_journal_of_a_mounted_file_system() {
    let lab = Lab::new();
    let [journal, data] = [(); 2].map(|()| lab.device(16 * MIB));
    mkfs(&["-O", "journal_dev", "-b", "4096"], &journal.path);
    let option = format!("device={}", journal.path.display());
    mkfs(&["-t", "ext4", "-b", "4096", "-J", &option], &data.path);
    refused_while(&journal.path, &[CLAIMED], || lab.mount(&data.path));
}

fn a_device_that_a_process_has_claimed_or_locked() {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    refused_while(&device.path, &[CLAIMED], || claimed(&device.path));
    let lock = || locked(&device.path, FlockOperation::LockExclusive);
    refused_while(&device.path, &[LOCKED], lock);
}

fn a_file_that_a_process_has_open_or_locked() {
    let lab = Lab::new();
    let image = lab.image("image", MIB);
    refused_while(&image, &[CLAIMED], || writable(&image));
    let lock = || locked(&image, FlockOperation::LockShared);
    refused_while(&image, &[LOCKED], lock);
}
