//! Every guard on real devices: what it refuses, and that the same target is allowed once the obstacle
//! is gone.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use squall_drives::Number;
use squall_drives::guards::{holders, visible_uses};
use squall_testing::loops::{Lab, Loop, Part};
use squall_testing::needs::{LOOP_DEVICES, MKFS_BTRFS, MOUNTS};
use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use crate::{
    MIB, WIPE, all_allowed, all_refused, allowed, find, refusal, refused, refused_while, runs,
};

pub const TESTS: &[Test] = tests![
    a_mounted_device: [LOOP_DEVICES],
    a_disk_with_a_mounted_partition: [LOOP_DEVICES],
    every_device_of_a_btrfs: [LOOP_DEVICES, MKFS_BTRFS],
    a_partition_of_a_disk_in_use_as_a_whole: [LOOP_DEVICES],
    swap_on_a_device_and_in_a_file: [LOOP_DEVICES],
    what_is_read_only: [LOOP_DEVICES],
    an_extended_partition: [LOOP_DEVICES],
    targets_named_twice,
    devices_named_twice: [LOOP_DEVICES],
    what_a_loop_device_stands_on: [LOOP_DEVICES],
    names_count_where_the_kernel_cannot_be_asked: [LOOP_DEVICES],
    a_file_whose_name_is_another_files: [LOOP_DEVICES],
    a_file_behind_two_loop_devices: [LOOP_DEVICES],
    what_is_below_a_loop_device: [LOOP_DEVICES],
    what_is_below_a_loop_device_over_a_partition: [LOOP_DEVICES],
    who_else_stands_on_a_target: [LOOP_DEVICES],
    the_disk_of_the_running_system: [SYSTEM_DISK],
    what_has_bytes_of_a_disk_of_the_system: [LOOP_DEVICES, MOUNTS],
];

const MOUNTED: &[&str] = &["is mounted at /", "a mount: unmount it"];

fn a_mounted_device() {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    refused_while(&device.path, MOUNTED, || lab.mounted(&device.path));
}

/// A device with partitions of 2 MiB, at 1 and at 4 MiB.
fn with_parts(lab: &Lab) -> (Loop, [Part; 2]) {
    let device = lab.device(8 * MIB);
    let parts = [(1, MIB), (2, 4 * MIB)].map(|(number, start)| device.part(number, start, 2 * MIB));
    (device, parts)
}

fn a_disk_with_a_mounted_partition() {
    let lab = Lab::new();
    let (device, [first, second]) = with_parts(&lab);
    let words = ["its partition loop", "p1 is mounted at"];
    refused_while(&device.path, &words, || {
        let mount = lab.mounted(&first.path);
        refused(&first.path, &["p1: is mounted at"]);
        allowed(&second.path);
        mount
    });
}

fn every_device_of_a_btrfs() {
    let lab = Lab::new();
    let devices = [lab.device(128 * MIB), lab.device(128 * MIB)];
    let mut command = Command::new("mkfs.btrfs");
    command.args(["--quiet", "--data", "raid1", "--metadata", "raid1"]);
    runs(command.args(devices.each_ref().map(|device| &device.path)));
    for device in &devices {
        refused_while(&device.path, MOUNTED, || lab.mount(&devices[0].path));
    }
}

fn a_partition_of_a_disk_in_use_as_a_whole() {
    let lab = Lab::new();
    let device = lab.device(8 * MIB);
    let part = device.part(1, 4 * MIB, 2 * MIB);
    let above = Loop::attach(&[], &device.path);
    let mount = lab.mounted(&above.path);
    refused(&part.path, &["its disk loop", "is held by loop", "a mount"]);
    drop(mount);
    refused(&part.path, &["is held by loop"]);
    let above_part = above.part(3, MIB, 2 * MIB);
    let mount = lab.mounted(&above_part.path);
    refused(
        &device.path,
        &["is held by loop", "p3, mounted at", "a mount"],
    );
    drop((mount, above_part));
    drop(above);
    allowed(&part.path);
}

fn swap_on_a_device_and_in_a_file() {
    let lab = Lab::new();
    let device = lab.device(4 * MIB);
    let words = ["is used as swap: run `swapoff`"];
    refused_while(&device.path, &words, || Lab::swapped(&device.path));
    let part = device.part(1, MIB, 2 * MIB);
    let words = ["its partition loop", "is used as swap"];
    refused_while(&device.path, &words, || Lab::swapped(&part.path));

    // A swap file must not have holes.
    let file = lab.path("a swap\tfile");
    fs::write(&file, vec![0; 4 << 20]).unwrap();
    refused_while(&file, &["is used as swap"], || Lab::swapped(&file));
    let swap = Lab::swapped(&file);
    let over = Loop::attach(&[], &file);
    refused(&over.path, &["the file of loop", "is used as swap"]);
    drop(swap);
    allowed(&over.path);
}

fn what_is_read_only() {
    let lab = Lab::new();
    let device = lab.device_with(&["--read-only"], MIB);
    refused(&device.path, &["is read-only"]);
    drop(device);
    let device = lab.device(4 * MIB);
    allowed(&device.path);

    let mount = lab.mounted(&device.path);
    let file = lab.path("a mount/file");
    fs::write(&file, "text").unwrap();
    allowed(&file);
    let remount = |option| {
        let mut command = Command::new("mount");
        runs(command.args(["-o", option]).arg(lab.path("a mount")))
    };
    remount("remount,ro");
    refused(&file, &["cannot be written to: Read-only file system"]);
    remount("remount,rw");
    allowed(&file);
    drop(mount);
}

fn an_extended_partition() {
    let lab = Lab::new();
    let disk = lab.device(8 * MIB);
    // This is how the kernel shows the partitions of an MS-DOS table.
    let (extended, logical) = (disk.part(2, MIB, 1024), disk.part(5, 2 * MIB, 4 * MIB));
    let words = ["its partition loop", "p5 is mounted at"];
    refused_while(&extended.path, &words, || lab.mounted(&logical.path));
}

fn targets_named_twice() {
    let lab = Lab::new();
    let (image, other) = (lab.image("image", MIB), lab.image("other", MIB));
    let (hard, soft) = (lab.path("hard"), lab.path("soft"));
    fs::hard_link(&image, &hard).unwrap();
    symlink(&image, &soft).unwrap();
    let [image, other, hard, soft] = [image, other, hard, soft].map(|path| find(&path));
    all_allowed(&[image.clone(), other.clone()]);
    for target in [image.clone(), hard, soft] {
        let targets = [image.clone(), other.clone(), target];
        all_refused(&targets, &["the same file as", "image"]);
    }
    let all = "name only one (2 more above): nothing was written";
    assert!(refusal(&vec![image; 4]).contains(all));
}

fn devices_named_twice() {
    let lab = Lab::new();
    let (device, parts) = with_parts(&lab);
    let soft = lab.path("soft");
    symlink(&device.path, &soft).unwrap();
    let [first, second] = parts.each_ref().map(|part| find(&part.path));
    let disk = || find(&device.path);
    all_allowed(&[first.clone(), second]);
    for (targets, words) in [
        ([disk(), find(&soft)], "soft: the same device as /dev/loop"),
        ([disk(), first.clone()], "p1: a partition of /dev/loop"),
        ([first.clone(), disk()], "the disk of /dev/loop"),
        ([first, disk()], "p1, which is also named"),
    ] {
        all_refused(&targets, &[words]);
    }
}

fn what_a_loop_device_stands_on() {
    let lab = Lab::new();
    let image = lab.image("an image\\040 of mine", MIB);
    let hard = lab.path("another name");
    fs::hard_link(&image, &hard).unwrap();
    let device = Loop::attach(&[], &image);
    for name in [&image, &hard] {
        refused(name, &["is attached to /dev/loop", "losetup -d /dev/loop"]);
    }
    let above = || Loop::attach(&[], &device.path);
    refused_while(&device.path, &["is held by loop"], above);
    drop(device);
    allowed(&image);
}

fn names_count_where_the_kernel_cannot_be_asked() {
    let lab = Lab::new();
    let image = lab.image("image", MIB);
    let below = Loop::attach(&[], &image);
    let above = Loop::attach(&[], &below.path);
    for (path, words) in [
        (&image, format!("is attached to {}", below.path.display())),
        (&below.path, format!("is held by {}", loop_name(&above))),
    ] {
        let text = unable_to_ask_loop_devices(path).expect("a refusal");
        assert!(text.contains(&words), "{text}");
    }
    assert_eq!(unable_to_ask_loop_devices(&above.path), None);
}

fn a_file_whose_name_is_another_files() {
    let lab = Lab::new();
    let (image, moved) = (lab.image("image", MIB), lab.path("moved"));
    let device = Loop::attach(&[], &image);
    // The name that the kernel shows now leads to the wrong file.
    fs::hard_link(&image, &moved).unwrap();
    fs::remove_file(&image).unwrap();
    let wrong = lab.image("image (deleted)", MIB);
    refused(&moved, &["is attached to /dev/loop"]);
    allowed(&wrong);
    // The control: whoever goes by the name is misled.
    assert_eq!(unable_to_ask_loop_devices(&moved), None);
    assert!(unable_to_ask_loop_devices(&wrong).is_some());
    drop(device);
    allowed(&moved);
}

fn a_file_behind_two_loop_devices() {
    let lab = Lab::new();
    let image = lab.image("image", MIB);
    let hard = lab.path("hard");
    fs::hard_link(&image, &hard).unwrap();
    let (one, two) = (Loop::attach(&[], &image), Loop::attach(&[], &hard));
    for (target, other) in [(&one, &two), (&two, &one)] {
        let too = format!("is also attached to {}", other.path.display());
        refused(&target.path, &["the file of loop", &too]);
    }
    drop(two);
    allowed(&one.path);
}

fn what_is_below_a_loop_device() {
    let lab = Lab::new();
    let below = lab.device(8 * MIB);
    let first = Loop::attach(&[], &below.path);
    let top = Loop::attach(&[], &first.path);
    let words = [
        "whose data it holds, is mounted at /",
        "a mount: unmount it",
    ];
    refused_while(&top.path, &words, || lab.mounted(&below.path));
    let words = ["whose data it holds, is held by loop"];
    refused_while(&top.path, &words, || Loop::attach(&[], &below.path));
    let part = below.part(2, 4 * MIB, 2 * MIB);
    let words = ["p2, whose data it holds, is used as swap"];
    refused_while(&top.path, &words, || Lab::swapped(&part.path));
}

fn what_is_below_a_loop_device_over_a_partition() {
    let lab = Lab::new();
    let (disk, [part, beside]) = with_parts(&lab);
    let top = Loop::attach(&[], &part.path);
    let mount = lab.mounted(&beside.path);
    allowed(&top.path);
    drop(mount);
    let words = ["p1, whose data it holds, is mounted at"];
    refused_while(&top.path, &words, || lab.mounted(&part.path));
    let words = ["whose data it holds, is held by loop"];
    refused_while(&top.path, &words, || Loop::attach(&[], &disk.path));
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
    let (disk, [part, beside]) = with_parts(&lab);
    let ours = Loop::attach(&[], &part.path);
    for path in [&disk.path, &part.path] {
        assert_eq!(held(path, &ours), [""; 0]);
        assert_eq!(held(path, &disk), [loop_name(&ours)]);
    }
    assert_eq!(held(&beside.path, &disk), [""; 0]);
    for below in [&ours.path, &disk.path] {
        let other = Loop::attach(&[], below);
        assert_eq!(held(&part.path, &ours), [loop_name(&other)]);
    }
    assert_eq!(held(&part.path, &ours), [""; 0]);
}

const SYSTEM_DISK: Need = Need {
    check: || system_disk().map(drop),
    required_by: NOTHING,
};

/// The disk that / is on. Fails where / has no device to itself, as in most containers.
fn system_disk() -> Result<PathBuf, String> {
    let root = fs::metadata("/").map_err(|error| error.to_string())?;
    let number = Number::new(root.dev());
    let device = fs::canonicalize(format!("/sys/dev/block/{number}"))
        .map_err(|_| "/ is on no device of its own")?;
    // The folder of a partition is in that of its disk.
    let is_partition = device.join("partition").exists();
    let disk = if is_partition { device.parent() } else { None };
    let name = disk.unwrap_or(&device).file_name();
    Ok(Path::new("/dev").join(name.expect("a folder has a name")))
}

fn the_disk_of_the_running_system() {
    let disk = system_disk().expect("a disk");
    refused(&disk, &["of the running system: /", " is on it"]);
}

fn what_has_bytes_of_a_disk_of_the_system() {
    let lab = Lab::new();
    let disk = lab.device(8 * MIB);
    let part = disk.part(1, MIB, 4 * MIB);
    let mount = lab.mounted(&part.path);
    let image = lab.image("a mount/image", 4096);
    let above = Loop::attach(&[], &disk.path);
    let on_file = Loop::attach(&["--sizelimit", "512"], &image);
    let text = refusal(&[find(&above.path)]);
    assert!(!text.contains("running system"), "{text}");
    for (device, words) in [
        (&above, "is on a disk of the running system: /boot is on it"),
        (&disk, "is a disk of the running system: /boot is on it"),
    ] {
        let text = with_boot_on(&part.path, &device.path).expect("a refusal");
        assert!(text.contains(words), "{text}");
    }
    allowed(&on_file.path);
    assert_eq!(with_boot_on(&part.path, &on_file.path), None);
    drop((on_file, above, mount));
}

/// Names the target that this process is to check, instead of running tests.
const TARGET: &str = "SQUALL_DRIVES_TEST_TARGET";

/// What a process says of a target that is allowed.
const ALLOWED: &str = "allowed";

/// Whether this process was asked, as another one, about the uses of a target that the kernel shows; it then has said
/// what came of it.
pub fn is_asked_elsewhere() -> bool {
    let Some(target) = std::env::var_os(TARGET) else {
        return false;
    };
    let uses = visible_uses(&[find(Path::new(&target))], &WIPE).expect("an answer");
    println!("{}", uses[0].first().map_or(ALLOWED, String::as_str));
    true
}

/// The refusal of `target` where `device` is mounted at /boot; None if it is allowed.
fn with_boot_on(device: &Path, target: &Path) -> Option<String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", "mount \"$0\" /boot; exec \"$1\""]);
    command.arg(device).arg(this_program());
    refusal_by(command, target)
}

/// The refusal of `target` in a process that may not ask what loop devices stand on; None if it is
/// allowed.
fn unable_to_ask_loop_devices(target: &Path) -> Option<String> {
    /// LOOP_GET_STATUS64 of linux/loop.h.
    const GET_STATUS: u64 = 0x4c05;
    let refusal = Refusal {
        call: libc::SYS_ioctl,
        when: Some((1, GET_STATUS)),
        errno: libc::EPERM,
    };
    refusal_by(refusing(Command::new(this_program()), &[refusal]), target)
}

fn this_program() -> OsString {
    std::env::current_exe().expect("a program").into()
}

fn refusal_by(mut command: Command, target: &Path) -> Option<String> {
    let said = runs(command.env(TARGET, target));
    (said != ALLOWED).then_some(said)
}
