//! `squall stream --output` refuses drives and files that are in use, and drives that the user did not
//! confirm.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use squall_testing::loops::{Lab, Loop, diskseq};
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{
    self, SEED, Scratch, by_shell, run, spawn, squall, terminal, text, wait_for_end,
};

const MIB: usize = 1 << 20;

/// The bytes of ext4's magic number.
const MAGIC: std::ops::Range<usize> = 1080..1082;

/// Runs `squall stream` with a fixed seed, writing 4 KiB to `output`.
fn stream(output: &Path, options: &str) -> Output {
    let mut command = squall(&format!("stream --size 4096 --seed {SEED} {options}"));
    let output = command.arg("--output").arg(output).output();
    output.expect("the command runs")
}

/// Fails unless nothing was written, and one line says so with all of `words`.
#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    common::refused(output, 2, &[&["nothing was written"], words].concat());
}

#[track_caller]
fn assert_written(output: &Output, to: &Path) {
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    let expected = run(&format!("stream --size 4096 --seed {SEED}")).stdout;
    assert!(fs::read(to).expect("its bytes")[..4096] == expected);
}

fn consent(device: &Loop) -> String {
    let serial = diskseq(&device.path).expect("Linux 5.15 or later");
    format!("--yes --serial {serial}")
}

/// The control runs the same command after unmounting, which destroys the file system.
fn a_mounted_drive_is_refused() {
    let lab = Lab::new();
    let image = lab.image("image", 16 * MIB as u64);
    let device = Loop::attach(&[], &image);
    let yes = consent(&device);
    let mounted = lab.mounted(&device.path);
    fs::write(lab.path("a mount/file"), "precious").expect("it is mounted");
    for options in ["", &yes] {
        refused(
            &stream(&device.path, options),
            &["is mounted at", "a mount"],
        );
    }
    drop(mounted);
    let mounted = lab.mount(&device.path);
    let content = fs::read(lab.path("a mount/file")).expect("it is mounted");
    assert_eq!(text(&content), "precious");
    drop(mounted);
    let fsck = Command::new("fsck.ext4").arg("-fn").arg(&image).output();
    assert!(fsck.expect("fsck.ext4 runs").status.success());
    assert_eq!(fs::read(&image).expect("an image")[MAGIC], [0x53, 0xef]);

    assert_written(&stream(&device.path, &yes), &device.path);
    let fsck = Command::new("fsck.ext4").arg("-fn").arg(&image).output();
    assert!(!fsck.expect("fsck.ext4 runs").status.success());
}

/// The shell opens the drive with `>`, so squall cannot check it before.
fn a_drive_as_standard_output_is_refused() {
    let lab = Lab::new();
    let device = lab.device(MIB as u64);
    let name = device.path.display();
    let output = by_shell(&format!("$squall stream --size 4096 > {name}"));
    refused(&output, &["standard output is a block device", "--output"]);
    assert!(fs::read(&device.path).unwrap() == vec![0; MIB]);
}

fn a_drive_must_be_confirmed() {
    let lab = Lab::new();
    let device = lab.device(MIB as u64);
    refused(
        &stream(&device.path, ""),
        &["cannot ask for confirmation", "--yes"],
    );
    refused(&stream(&device.path, "--yes"), &["add --serial diskseq-"]);
    let others = "--yes --serial diskseq-0";
    refused(
        &stream(&device.path, others),
        &["no target has this serial number"],
    );
    assert!(fs::read(&device.path).unwrap() == vec![0; MIB]);
    assert_written(&stream(&device.path, &consent(&device)), &device.path);
}

/// On a terminal, the command asks for the drive's serial number.
fn a_terminal_is_asked_for_the_serial_number() {
    let lab = Lab::new();
    let device = lab.device(MIB as u64);
    let serial = diskseq(&device.path).expect("Linux 5.15 or later");
    let asked = |answer: &str| {
        let (mut ours, theirs) = terminal();
        let mut command = squall(&format!("stream --size 4096 --seed {SEED} --output"));
        command.arg(&device.path).stdin(theirs);
        let child = spawn(&mut command);
        writeln!(ours, "{answer}").expect("a terminal");
        wait_for_end(child)
    };
    let (code, message) = asked("yes");
    assert_eq!(code, Some(2), "{message}");
    assert!(
        message.contains("not confirmed: \"yes\" is not \"diskseq-"),
        "{message}"
    );
    assert!(fs::read(&device.path).unwrap() == vec![0; MIB]);
    let (code, message) = asked(&serial);
    assert_eq!(code, Some(0), "{message}");
    assert!(
        message.contains(&format!("serial number {serial}")),
        "{message}"
    );
    assert!(fs::read(&device.path).unwrap() != vec![0; MIB]);
}

/// A file behind a loop device, and a swap file. Each is written once it is no longer in use.
fn a_file_that_is_in_use_is_refused() {
    let lab = Lab::new();
    let image = lab.image("image", MIB as u64);
    let attached = Loop::attach(&[], &image);
    refused(
        &stream(&image, ""),
        &["is attached to /dev/loop", "losetup"],
    );
    let appended = by_shell(&format!(
        "$squall stream --size 4096 >> {}",
        image.display()
    ));
    refused(&appended, &["standard output: is attached"]);
    assert!(fs::read(&image).unwrap() == vec![0; MIB]);
    drop(attached);
    assert_written(&stream(&image, ""), &image);

    let swap = lab.path("swap");
    fs::write(&swap, vec![0; 4 * MIB]).expect("room for swap");
    let swapped = Lab::swapped(&swap);
    let before = fs::read(&swap).unwrap();
    refused(&stream(&swap, ""), &["is used as swap", "swapoff"]);
    assert!(fs::read(&swap).unwrap() == before);
    drop(swapped);
    assert_written(&stream(&swap, ""), &swap);
}

/// Consent is for a drive: if its name no longer exists, no file is created there.
fn consent_for_a_drive_creates_no_file() {
    let file = Scratch::new();
    for consent in ["--yes", "--serial WD-1"] {
        refused(
            &stream(file.path(), consent),
            &["is not a drive", "do not apply"],
        );
        assert!(!file.path().exists());
        refused(
            &run(&format!("stream --size 1 {consent}")),
            &["standard output is not a drive"],
        );
    }
}

pub const TESTS: &[Test] = tests![
    a_mounted_drive_is_refused: [LOOP_DEVICES],
    a_drive_as_standard_output_is_refused: [LOOP_DEVICES],
    a_drive_must_be_confirmed: [LOOP_DEVICES],
    a_terminal_is_asked_for_the_serial_number: [LOOP_DEVICES],
    a_file_that_is_in_use_is_refused: [LOOP_DEVICES],
    consent_for_a_drive_creates_no_file,
];
