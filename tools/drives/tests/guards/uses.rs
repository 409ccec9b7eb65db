//! Targets that are mounted, swapped to or read-only, and partitions and disks of such.

use std::fs;
use std::process::Command;

use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::{LOOP_DEVICES, MKFS_BTRFS};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::{allowed, refused};
use crate::common::{MIB, find};

fn a_mounted_device() {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    allowed(&[find(&device.path)]);
    let mount = lab.mounted(&device.path);
    refused(
        &[find(&device.path)],
        &["is mounted at /", "a mount: unmount it"],
    );
    drop(mount);
    allowed(&[find(&device.path)]);
}

fn a_disk_with_a_mounted_partition() {
    let lab = Lab::new();
    let device = lab.device(8 * MIB);
    let (first, second) = (
        device.part(1, MIB, 2 * MIB),
        device.part(2, 4 * MIB, 2 * MIB),
    );
    allowed(&[find(&device.path)]);
    let mount = lab.mounted(&first.path);
    refused(
        &[find(&device.path)],
        &["its partition loop", "p1 is mounted at"],
    );
    refused(&[find(&first.path)], &["p1: is mounted at"]);
    allowed(&[find(&second.path)]);
    drop(mount);
    allowed(&[find(&device.path)]);
}

fn every_device_of_a_btrfs() {
    let lab = Lab::new();
    let devices = [lab.device(128 * MIB), lab.device(128 * MIB)];
    let mut command = Command::new("mkfs.btrfs");
    command.args(["--quiet", "--data", "raid1", "--metadata", "raid1"]);
    command.args(devices.each_ref().map(|device| &device.path));
    let made = command.output().expect("mkfs.btrfs runs");
    assert!(made.status.success(), "{made:?}");
    allowed(&devices.each_ref().map(|device| find(&device.path)));
    let mount = lab.mount(&devices[0].path);
    for device in &devices {
        refused(
            &[find(&device.path)],
            &["is mounted at /", "a mount: unmount it"],
        );
    }
    drop(mount);
    allowed(&devices.each_ref().map(|device| find(&device.path)));
}

fn a_partition_of_a_disk_in_use_as_a_whole() {
    let lab = Lab::new();
    let device = lab.device(8 * MIB);
    let part = device.part(1, 4 * MIB, 2 * MIB);
    let above = Loop::attach(&[], &device.path);
    let mount = lab.mounted(&above.path);
    refused(
        &[find(&part.path)],
        &["its disk loop", "is held by loop", "a mount"],
    );
    drop(mount);
    refused(&[find(&part.path)], &["is held by loop"]);
    let above_part = above.part(3, MIB, 2 * MIB);
    let mount = lab.mounted(&above_part.path);
    refused(
        &[find(&device.path)],
        &["is held by loop", "p3, mounted at", "a mount"],
    );
    drop((mount, above_part));
    drop(above);
    allowed(&[find(&part.path)]);
}

fn swap_on_a_device_and_in_a_file() {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    let swap = Lab::swapped(&device.path);
    refused(&[find(&device.path)], &["is used as swap: run `swapoff`"]);
    drop(swap);
    allowed(&[find(&device.path)]);

    let part = device.part(1, MIB, 2 * MIB);
    let swap = Lab::swapped(&part.path);
    refused(
        &[find(&device.path)],
        &["its partition loop", "is used as swap"],
    );
    drop(swap);
    allowed(&[find(&device.path)]);

    // A swap file must not have holes.
    let file = lab.path("a swap\tfile");
    fs::write(&file, vec![0; 4 << 20]).unwrap();
    allowed(&[find(&file)]);
    let swap = Lab::swapped(&file);
    refused(&[find(&file)], &["is used as swap"]);
    drop(swap);
    allowed(&[find(&file)]);
}

fn what_is_read_only() {
    let lab = Lab::new();
    let device = lab.device_with(&["--read-only"], MIB);
    refused(&[find(&device.path)], &["is read-only"]);
    drop(device);
    let device = lab.device(4 * MIB);
    allowed(&[find(&device.path)]);

    let mount = lab.mounted(&device.path);
    let file = lab.path("a mount/file");
    fs::write(&file, "text").unwrap();
    allowed(&[find(&file)]);
    let remount = |option| {
        let mut command = Command::new("mount");
        let status = command
            .args(["-o", option])
            .arg(lab.path("a mount"))
            .status();
        assert!(status.unwrap().success());
    };
    remount("remount,ro");
    refused(
        &[find(&file)],
        &["cannot be written to: Read-only file system"],
    );
    remount("remount,rw");
    allowed(&[find(&file)]);
    drop(mount);
}

fn an_extended_partition() {
    let lab = Lab::new();
    let disk = lab.device(8 * MIB);
    // This is how the kernel shows the partitions of an MS-DOS table.
    let (extended, logical) = (disk.part(2, MIB, 1024), disk.part(5, 2 * MIB, 4 * MIB));
    allowed(&[find(&extended.path)]);
    let mount = lab.mounted(&logical.path);
    refused(
        &[find(&extended.path)],
        &["its partition loop", "p5 is mounted at"],
    );
    drop(mount);
    allowed(&[find(&extended.path)]);
}

pub const TESTS: &[Test] = tests![
    a_mounted_device: [LOOP_DEVICES],
    a_disk_with_a_mounted_partition: [LOOP_DEVICES],
    every_device_of_a_btrfs: [LOOP_DEVICES, MKFS_BTRFS],
    a_partition_of_a_disk_in_use_as_a_whole: [LOOP_DEVICES],
    swap_on_a_device_and_in_a_file: [LOOP_DEVICES],
    what_is_read_only: [LOOP_DEVICES],
    an_extended_partition: [LOOP_DEVICES],
];
