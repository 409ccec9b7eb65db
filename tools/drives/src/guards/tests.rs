//! Tests every guard on real devices, and that the same target is allowed once the obstacle is gone.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use super::*;
use crate::Kind;
use crate::purpose::tests::WIPE;
use crate::target::device::Number;
use crate::target::tests::find;
use squall_testing::loops::{Lab, Loop};

const MIB: u64 = 1 << 20;

/// The failure's text for `targets`, which must be refused.
#[track_caller]
fn refusal(targets: &[Target]) -> String {
    check(targets, &WIPE).expect_err("a refusal").into_text()
}

/// Asserts that `targets` are refused in a text with all of `words`, and that nothing was written.
#[track_caller]
fn refused(targets: &[Target], words: &[&str]) {
    let text = refusal(targets);
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    assert!(text.ends_with("nothing was written"), "{text}");
}

fn skip(why: &str) {
    let line = format!("SKIP {why}\n");
    io::stderr().write_all(line.as_bytes()).unwrap();
}

#[track_caller]
fn allowed(targets: &[Target]) {
    check(targets, &WIPE).unwrap();
}

#[test]
fn a_mounted_device() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn a_disk_with_a_mounted_partition() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn every_device_of_a_btrfs() {
    let Some(lab) = Lab::or_skip() else { return };
    let devices = [lab.device(128 * MIB), lab.device(128 * MIB)];
    let mut command = Command::new("mkfs.btrfs");
    command.args(["--quiet", "--data", "raid1", "--metadata", "raid1"]);
    let Ok(made) = command
        .args(devices.each_ref().map(|device| &device.path))
        .output()
    else {
        skip("btrfs: no mkfs.btrfs");
        return;
    };
    assert!(made.status.success());
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

#[test]
fn a_partition_of_a_disk_in_use_as_a_whole() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn swap_on_a_device_and_in_a_file() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn what_a_loop_device_stands_on() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn what_is_read_only() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
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

#[test]
fn devices_named_twice() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn two_paths_to_a_drive() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn all_refusals_are_told() {
    let lab = Lab::new();
    let image = find(&lab.image("image", MIB));
    let targets = vec![image; 4];
    assert!(refusal(&targets).contains("name only one (2 more above): nothing was written"));
}

#[test]
fn the_disk_of_the_running_system() {
    let root = Number::new(fs::metadata("/").unwrap().dev());
    let Ok(device) = Device::at(root) else {
        skip("the system's disk: / is on no device of its own");
        return;
    };
    let disk = device.disk().path();
    refused(&[find(&disk)], &["of the running system: /", " is on it"]);
}

#[test]
fn what_is_below_a_loop_device() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn what_is_below_a_loop_device_over_a_partition() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn who_else_stands_on_a_target() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn a_file_behind_two_loop_devices() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn a_file_whose_name_is_another_files() {
    let Some(lab) = Lab::or_skip() else { return };
    let (image, moved) = (lab.image("image", MIB), lab.path("moved"));
    let device = Loop::attach(&[], &image);
    // The name that the kernel shows now leads to the wrong file.
    fs::hard_link(&image, &moved).unwrap();
    fs::remove_file(&image).unwrap();
    lab.image("image (deleted)", MIB);
    refused(&[find(&moved)], &["is attached to /dev/loop"]);
    allowed(&[find(&lab.path("image (deleted)"))]);
    drop(device);
    allowed(&[find(&moved)]);
}

#[test]
fn a_loop_device_over_a_file_that_is_swapped_to() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn an_extended_partition() {
    let Some(lab) = Lab::or_skip() else { return };
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

#[test]
fn what_has_bytes_of_a_disk_of_the_system() {
    let Some(lab) = Lab::or_skip() else { return };
    let disk = lab.device(8 * MIB);
    let part = disk.part(1, MIB, 4 * MIB);
    let mount = lab.mounted(&part.path);
    let file = lab.path("a mount/file");
    fs::write(&file, "text").unwrap();
    let (above, on_file) = (
        Loop::attach(&[], &disk.path),
        Loop::attach(&["--sizelimit", "512"], &lab.image("a mount/image", 4096)),
    );
    let reasons = |device: &Loop, machine: &Machine| {
        let reasons = machine.reasons(&find(&device.path)).unwrap();
        reasons.join("; ")
    };
    let mut machine = Machine::look(WIPE).unwrap();
    assert!(!reasons(&above, &machine).contains("running system"));
    let number = Number::new(fs::metadata(&part.path).unwrap().rdev());
    machine.mounts.push(Mount {
        point: "/".into(),
        devices: vec![number],
    });
    let text = reasons(&above, &machine);
    assert!(
        text.contains("is on a disk of the running system: / is on it"),
        "{text}"
    );
    let text = reasons(&disk, &machine);
    assert!(text.contains("is a disk of the running system"), "{text}");
    assert_eq!(reasons(&on_file, &machine), "");
    drop((on_file, above, mount));
}

#[test]
fn where_the_running_system_is() {
    for (point, is) in [
        ("/", true),
        ("/boot", true),
        ("/boot/efi", true),
        ("/usr", true),
        ("/var", true),
        ("/bootleg", false),
        ("/home", false),
        ("/mnt", false),
    ] {
        assert_eq!(is_system(Path::new(point)), is, "{point}");
    }
}
