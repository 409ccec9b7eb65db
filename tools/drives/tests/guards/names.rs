//! Targets that are named twice, and how many refusals a message has.

use std::fs;
use std::os::unix::fs::symlink;

use squall_drives::{Kind, Target};
use squall_testing::loops::Lab;
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::{allowed, refusal, refused};
use crate::common::{MIB, find};

fn targets_named_twice() {
    let lab = Lab::new();
    let (image, other) = (lab.image("image", MIB), lab.image("other", MIB));
    let (hard, soft) = (lab.path("hard"), lab.path("soft"));
    fs::hard_link(&image, &hard).unwrap();
    symlink(&image, &soft).unwrap();
    allowed(&[find(&image), find(&other)]);
    for name in [&image, &hard, &soft] {
        refused(
            &[find(&image), find(&other), find(name)],
            &["the same file as", "image"],
        );
    }
}

fn devices_named_twice() {
    let lab = Lab::new();
    let device = lab.device(8 * MIB);
    let soft = lab.path("soft");
    symlink(&device.path, &soft).unwrap();
    refused(
        &[find(&device.path), find(&soft)],
        &["soft: the same device as /dev/loop"],
    );
    let parts = [
        device.part(1, MIB, 2 * MIB),
        device.part(2, 4 * MIB, 2 * MIB),
    ];
    let [first, second] = parts.each_ref().map(|part| find(&part.path));
    allowed(&[first.clone(), second.clone()]);
    let disk = find(&device.path);
    refused(
        &[disk.clone(), first.clone()],
        &["p1: a partition of /dev/loop"],
    );
    refused(
        &[first, disk],
        &["the disk of /dev/loop", "p1, which is also named"],
    );
}

fn two_paths_to_a_drive() {
    let lab = Lab::new();
    let devices = [lab.device(MIB), lab.device(MIB)];
    let mut paths = devices.each_ref().map(|device| find(&device.path));
    allowed(&paths);
    for Target { identity, .. } in &mut paths {
        identity.kind = Kind::Disk;
        identity.serial = Some("WD-WX12A3456789".into());
        identity.wwid = Some("naa.50014ee2b5d0a1f3".into());
    }
    refused(&paths, &["another path to the same drive as /dev/loop"]);
    paths[1].identity.wwid = Some("naa.50014ee2b5d0a1f4".into());
    allowed(&paths);
}

fn all_refusals_are_known() {
    let lab = Lab::new();
    let image = find(&lab.image("image", MIB));
    let targets = vec![image; 4];
    assert!(refusal(&targets).contains("name only one (2 more above): nothing was written"));
}

pub const TESTS: &[Test] = tests![
    targets_named_twice,
    devices_named_twice: [LOOP_DEVICES],
    two_paths_to_a_drive: [LOOP_DEVICES],
    all_refusals_are_known,
];
