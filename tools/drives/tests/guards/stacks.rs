//! Loop devices over files, over partitions and over each other.

use std::fs;
use std::path::Path;

use squall_drives::guards::holders;
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::elsewhere::unable_to_ask_loop_devices;
use super::{allowed, refused};
use crate::common::{MIB, find};

fn what_a_loop_device_stands_on() {
    let lab = Lab::new();
    let image = lab.image("an image\\040 of mine", MIB);
    let hard = lab.path("another name");
    fs::hard_link(&image, &hard).unwrap();
    let device = Loop::attach(&[], &image);
    for name in [&image, &hard] {
        refused(
            &[find(name)],
            &["is attached to /dev/loop", "losetup -d /dev/loop"],
        );
    }
    allowed(&[find(&device.path)]);
    let above = Loop::attach(&[], &device.path);
    refused(&[find(&device.path)], &["is held by loop"]);
    drop(above);
    drop(device);
    allowed(&[find(&image)]);
}

fn names_count_where_the_kernel_cannot_be_asked() {
    let lab = Lab::new();
    let image = lab.image("image", MIB);
    let below = Loop::attach(&[], &image);
    let above = Loop::attach(&[], &below.path);
    let told = |path: &Path| unable_to_ask_loop_devices(path).expect("a refusal");
    let attached = format!("is attached to {}", below.path.display());
    assert!(told(&image).contains(&attached), "{}", told(&image));
    let held = format!("is held by {}", loop_name(&above));
    assert!(told(&below.path).contains(&held), "{}", told(&below.path));
    assert_eq!(unable_to_ask_loop_devices(&above.path), None);
}

fn a_file_whose_name_is_another_files() {
    let lab = Lab::new();
    let (image, moved) = (lab.image("image", MIB), lab.path("moved"));
    let device = Loop::attach(&[], &image);
    // The name that the kernel shows now leads to the wrong file.
    fs::hard_link(&image, &moved).unwrap();
    fs::remove_file(&image).unwrap();
    lab.image("image (deleted)", MIB);
    let wrong = lab.path("image (deleted)");
    refused(&[find(&moved)], &["is attached to /dev/loop"]);
    allowed(&[find(&wrong)]);
    // The control: whoever goes by the name is misled.
    assert_eq!(unable_to_ask_loop_devices(&moved), None);
    assert!(unable_to_ask_loop_devices(&wrong).is_some());
    drop(device);
    allowed(&[find(&moved)]);
}

fn a_file_behind_two_loop_devices() {
    let lab = Lab::new();
    let image = lab.image("image", MIB);
    let hard = lab.path("hard");
    fs::hard_link(&image, &hard).unwrap();
    let (one, two) = (Loop::attach(&[], &image), Loop::attach(&[], &hard));
    for (target, other) in [(&one, &two), (&two, &one)] {
        let too = format!("is also attached to {}", other.path.display());
        refused(&[find(&target.path)], &["the file of loop", &too]);
    }
    drop(two);
    allowed(&[find(&one.path)]);
}

fn a_loop_device_over_a_file_that_is_swapped_to() {
    let lab = Lab::new();
    let file = lab.path("file");
    fs::write(&file, vec![0; 4 << 20]).unwrap();
    let swap = Lab::swapped(&file);
    let device = Loop::attach(&[], &file);
    refused(
        &[find(&device.path)],
        &["the file of loop", "is used as swap"],
    );
    drop(swap);
    allowed(&[find(&device.path)]);
}

fn what_is_below_a_loop_device() {
    let lab = Lab::new();
    let below = lab.device(8 * MIB);
    let first = Loop::attach(&[], &below.path);
    let top = Loop::attach(&[], &first.path);
    allowed(&[find(&top.path)]);

    let mount = lab.mounted(&below.path);
    refused(
        &[find(&top.path)],
        &[
            "whose data it holds, is mounted at /",
            "a mount: unmount it",
        ],
    );
    drop(mount);
    let beside = Loop::attach(&[], &below.path);
    refused(
        &[find(&top.path)],
        &["whose data it holds, is held by loop"],
    );
    drop(beside);
    let part = below.part(2, 4 * MIB, 2 * MIB);
    let swap = Lab::swapped(&part.path);
    refused(
        &[find(&top.path)],
        &["p2, whose data it holds, is used as swap"],
    );
    drop(swap);
    allowed(&[find(&top.path)]);
}

fn what_is_below_a_loop_device_over_a_partition() {
    let lab = Lab::new();
    let disk = lab.device(8 * MIB);
    let (part, beside) = (disk.part(1, MIB, 2 * MIB), disk.part(2, 4 * MIB, 2 * MIB));
    let top = Loop::attach(&[], &part.path);
    let mount = lab.mounted(&beside.path);
    allowed(&[find(&top.path)]);
    drop(mount);
    let mount = lab.mounted(&part.path);
    refused(
        &[find(&top.path)],
        &["p1, whose data it holds, is mounted at"],
    );
    drop(mount);
    let whole = Loop::attach(&[], &disk.path);
    refused(
        &[find(&top.path)],
        &["whose data it holds, is held by loop"],
    );
    drop(whole);
    allowed(&[find(&top.path)]);
}

/// The [`holders`] of the device at `path`, without the loop device `ours`.
#[track_caller]
fn held(path: &Path, ours: &Loop) -> Vec<String> {
    let name = loop_name(ours);
    holders(&find(path), |holder| holder == name).unwrap()
}

fn loop_name(device: &Loop) -> String {
    let name = device.path.file_name().unwrap();
    name.to_str().unwrap().to_owned()
}

fn who_else_stands_on_a_target() {
    let lab = Lab::new();
    let disk = lab.device(8 * MIB);
    let (part, beside) = (disk.part(1, MIB, 2 * MIB), disk.part(2, 4 * MIB, 2 * MIB));
    let ours = Loop::attach(&[], &part.path);
    for path in [&disk.path, &part.path] {
        assert_eq!(held(path, &ours), [""; 0]);
        assert_eq!(held(path, &disk), [loop_name(&ours)]);
    }
    assert_eq!(held(&beside.path, &disk), [""; 0]);

    let above = Loop::attach(&[], &ours.path);
    assert_eq!(held(&part.path, &ours), [loop_name(&above)]);
    drop(above);
    let whole = Loop::attach(&[], &disk.path);
    assert_eq!(held(&part.path, &ours), [loop_name(&whole)]);
    drop(whole);
    assert_eq!(held(&part.path, &ours), [""; 0]);
}

pub const TESTS: &[Test] = tests![
    what_a_loop_device_stands_on: [LOOP_DEVICES],
    names_count_where_the_kernel_cannot_be_asked: [LOOP_DEVICES],
    a_file_whose_name_is_another_files: [LOOP_DEVICES],
    a_file_behind_two_loop_devices: [LOOP_DEVICES],
    a_loop_device_over_a_file_that_is_swapped_to: [LOOP_DEVICES],
    what_is_below_a_loop_device: [LOOP_DEVICES],
    what_is_below_a_loop_device_over_a_partition: [LOOP_DEVICES],
    who_else_stands_on_a_target: [LOOP_DEVICES],
];
