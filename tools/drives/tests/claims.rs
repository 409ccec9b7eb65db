//! A drive that somebody else has open or locked.

use std::fs::File;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use squall_drives::Target;
use squall_drives::io::{Access, Device, Direct, claimed_by_others, hold};
use squall_testing::loops::Lab;
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tools::Failure;
use squall_tools::retry::retry;

use crate::common::{MIB, find, writable};

fn open(target: &Target, access: Access) -> Result<(), Failure> {
    Device::open(target, access, Direct::Auto).map(drop)
}

/// Repeats `attempt` until it succeeds: a child that another test has just forked has this process's
/// files open until it runs its program.
#[track_caller]
fn in_the_end<E: std::fmt::Debug>(attempt: impl Fn() -> Result<(), E>) {
    retry(Duration::from_secs(600), |_| true, attempt).expect("nobody else has it");
}

/// udev locks a drive while it probes it, and systemd-repart while it makes partitions.
fn is_left_alone_while_locked(access: Access) {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    let target = find(&device.path);
    let theirs = File::open(&device.path).expect("it opens");
    rustix::fs::flock(&theirs, FlockOperation::LockExclusive).expect("a lock");
    let text = open(&target, access).unwrap_err().into_text();
    assert!(text.contains("another process has locked it"), "{text}");
    drop(theirs);
    in_the_end(|| open(&target, access));
}

fn a_drive_that_somebody_has_locked_is_not_overwritten() {
    is_left_alone_while_locked(Access::Write);
}

fn a_drive_that_somebody_has_locked_is_not_read() {
    is_left_alone_while_locked(Access::Read);
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
    let theirs = File::open(&part.path).expect("it opens");
    let text = open(&target, Access::Write).unwrap_err().into_text();
    assert!(text.contains("another process is using it"), "{text}");
    drop(theirs);
    in_the_end(|| open(&target, Access::Write));
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
        let claim = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        let theirs = rustix::fs::open(path, claim, Mode::empty()).expect("it opens");
        assert_eq!(is_free(), Err("another process is using it".to_owned()));
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
    assert!(one.is_same_drive_as(&part) && one.is_same_drive_as(&one));
    assert!(!two.is_same_drive_as(&part) && !two.is_same_drive_as(&one));
}

pub const TESTS: &[Test] = tests![
    a_claim_on_a_drive_or_a_part_of_it_is_noticed_without_writing: [LOOP_DEVICES],
    a_partition_belongs_to_its_drive: [LOOP_DEVICES],
    a_drive_that_somebody_has_locked_is_not_overwritten: [LOOP_DEVICES],
    a_drive_that_somebody_has_locked_is_not_read: [LOOP_DEVICES],
    a_drive_is_held_by_one: [LOOP_DEVICES],
    a_partition_that_somebody_has_open_is_noticed: [LOOP_DEVICES],
];
