//! Loop devices and their partitions as targets: how each is known, and what is taken for another.

use std::fs::File;

use squall_drives::{Kind, Target};
use squall_testing::loops::Lab;
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::{MIB, find, writable};

fn a_loop_device_is_known_by_its_attachment() {
    let lab = Lab::new();
    let device = lab.device(3 * MIB + 512);
    let target = find(&device.path);
    let identity = &target.identity;
    assert_eq!((identity.kind, identity.size), (Kind::Loop, 3 * MIB + 512));
    assert_eq!((identity.sector, identity.flash), (512, None));
    assert!(identity.serial.as_ref().unwrap().starts_with("diskseq-"));
    assert!(!target.has_stable_name && identity.lasting_serial().is_none());
    assert!(target.is_attached());
    target.confirm(&writable(&device.path)).unwrap();
    let is_it = |found: &Target| found.identity == *identity;
    assert!(Target::all().unwrap().iter().any(is_it));

    let other = lab.device(3 * MIB + 512);
    assert!(target.confirm(&writable(&other.path)).is_err());

    let path = device.path.clone();
    drop(device);
    assert!(!target.is_attached());
    let whatever_is_there = File::open(&path).unwrap();
    assert!(target.confirm(&whatever_is_there).is_err());
}

fn what_is_attached_in_its_place_is_another() {
    let lab = Lab::new();
    let image = lab.image("another", 2 * MIB);
    let replace = |_| {
        let device = lab.device(2 * MIB);
        let target = find(&device.path);
        Some((target, device.replaced(&image)?))
    };
    let (target, device) = (0..20).find_map(replace).expect("a device to oneself");
    assert!(!target.is_attached());
    let confirmed = target.confirm(&writable(&device.path));
    let text = confirmed.unwrap_err().into_text();
    assert!(
        text.contains("no longer the same target: nothing was written"),
        "{text}"
    );
    let found = find(&device.path);
    assert!(found.is_attached());
    found.confirm(&writable(&device.path)).unwrap();
}

fn sectors_and_parts_of_devices() {
    let lab = Lab::new();
    let device = lab.device_with(&["--sector-size", "4096"], 4 * MIB);
    assert_eq!(find(&device.path).identity.sector, 4096);
    let part = device.part(2, MIB, 2 * MIB);
    let target = find(&part.path);
    let (disk, identity) = (find(&device.path).identity, &target.identity);
    assert_eq!(
        (identity.kind, identity.size, identity.sector),
        (Kind::Partition, 2 * MIB, 4096)
    );
    assert_eq!(identity.serial, disk.serial.map(|serial| serial + "-part2"));
    target.confirm(&writable(&part.path)).unwrap();
    assert!(find(&device.path).confirm(&writable(&part.path)).is_err());
}

pub const TESTS: &[Test] = tests![
    a_loop_device_is_known_by_its_attachment: [LOOP_DEVICES],
    what_is_attached_in_its_place_is_another: [LOOP_DEVICES],
    sectors_and_parts_of_devices: [LOOP_DEVICES],
];
