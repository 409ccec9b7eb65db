//! Real block devices: several at once, unusual ones, and the bytes next to them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::runs::FinishedRun;
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{
    OLD, Running, Workspace, assert_keystream, contents, flip, key, read, run_to_end, serial,
    squall_on,
};

const MIB: usize = 1 << 20;

fn serials(devices: &[&Path]) -> String {
    let option = |device: &&Path| format!("--serial {} ", serial(device));
    devices.iter().map(option).collect()
}

fn several_are_wiped_at_once_and_nothing_beside_them() {
    let workspace = Workspace::new();
    // The device is in the middle of a file; the bytes before and after it must not change.
    let size = 24 * MIB;
    let middle = workspace.target("middle", size);
    let offset = format!("--offset={}", 8 * MIB + 512);
    let limit = format!("--sizelimit={}", 8 * MIB + 512);
    let inner = Loop::attach(&[&offset, &limit], &middle);
    let odd = Loop::attach(&[], &workspace.target("odd", 5 * MIB + 777));
    let large = Loop::attach(&["--sector-size=4096"], &workspace.target("4k", 6 * MIB));
    let neighbour = workspace.target("neighbour", MIB);
    let beside = Loop::attach(&[], &neighbour);

    let devices = [inner.path.as_path(), &odd.path, &large.path];
    let options = format!("--keep-key {}", serials(&devices));
    let done = run_to_end(workspace.wipe(&options, &devices)).succeeded();
    assert_eq!(done.events("ended").len(), 3);

    let keys = workspace.files("key");
    let odd_size = (5 * MIB + 777) / 512 * 512;
    let sizes = [8 * MIB + 512, odd_size, 6 * MIB];
    for ((device, size), file) in devices.into_iter().zip(sizes).zip(&keys) {
        assert_keystream(device, size, &key(file, 0));
    }
    let around = fs::read(&middle).unwrap();
    let (before, rest) = around.split_at(8 * MIB + 512);
    let behind = &rest[8 * MIB + 512..];
    assert!(before.iter().chain(behind).all(|byte| *byte == OLD));
    let last = fs::read(workspace.path("odd")).unwrap();
    assert!(last[odd_size..].iter().all(|byte| *byte == OLD));
    let beside_it = fs::read(&neighbour).unwrap();
    assert!(beside_it.iter().all(|byte| *byte == OLD));
    drop(beside);
    run_to_end(workspace.verify("")).succeeded();
}

fn verification_reads_the_medium_and_not_the_cache() {
    for direct in ["auto", "off"] {
        let workspace = Workspace::new();
        let medium = workspace.target("medium", 4 * MIB);
        let device = Loop::attach(&["--direct-io=on"], &medium);
        let options = format!("--pass zero --direct {direct} {}", serials(&[&device.path]));
        run_to_end(workspace.wipe(&options, &[&device.path])).succeeded();
        // Now the page cache holds the device's zeros, as long as somebody has the device open, and the
        // medium holds something else.
        let _open = File::open(&device.path).unwrap();
        let zeros = contents(&device.path, 4 * MIB);
        assert!(zeros.iter().all(|byte| *byte == 0));
        flip(&medium, 2_500_000);
        let cached = contents(&device.path, 4 * MIB)[2_500_000];
        assert_eq!(cached, 0, "a control: whoever reads the cache sees nothing");
        let options = format!("--direct {direct}");
        let found = run_to_end(workspace.verify(&options)).failed("not as they were written");
        assert_eq!(found.events("differing")[0]["offset"], 2_500_000);
    }
}

/// The same for `squall blank`.
fn a_drive_is_not_blank_because_the_cache_is() {
    for direct in ["auto", "off"] {
        let workspace = Workspace::new();
        let medium = workspace.sparse_target("medium", 4 << 20);
        let device = Loop::attach(&["--direct-io=on"], &medium);
        let _open = File::open(&device.path).unwrap();
        assert!(
            contents(&device.path, 4 * MIB)
                .iter()
                .all(|byte| *byte == 0)
        );
        flip(&medium, 3_000_000);
        assert_eq!(contents(&device.path, 4 * MIB)[3_000_000], 0, "the control");
        let read = squall_on(&format!("blank --json --direct {direct}"), &[&device.path]);
        assert_eq!(read.events[0]["first"], 3_000_000);
    }
}

/// Runs `command`, and makes `device`, whose file is `image`, `size` bytes long after the event of this name.
fn resized(command: Command, event: &str, device: &Loop, image: &Path, size: u64) -> FinishedRun {
    let mut running = Running::start(command);
    running.until(event);
    let file = File::options().write(true).open(image).expect("an image");
    file.set_len(size).expect("room");
    device.resize();
    running.end()
}

/// What is added to a device was neither overwritten nor compared, and nothing is known of what is cut off.
fn a_device_whose_size_changes_is_incomplete() {
    let lab = Lab::new();
    let workspace = Workspace::new();
    let before = 8 << 20;
    let image = lab.image("image", before);
    let device = Loop::attach(&[], &image);
    let slowly = "--rate-limit 1MiB";
    let options = format!("--pass zero {slowly} {}", serials(&[&device.path]));
    let wipe = workspace.wipe(&options, &[&device.path]);
    let grown = resized(wipe, "verification", &device, &image, 2 * before);
    let grown = grown.failed("1 of 1 drives not wiped as asked");
    assert_eq!(grown.events("ended")[0]["outcome"], "incomplete");
    let report = read(&workspace.reports()[0]);
    assert_eq!(report["drives"][0]["size_at_end"], 2 * before);
    assert_eq!(report["drives"][0]["level"], Value::Null);

    let workspace = Workspace::new();
    let options = format!("--pass zero {}", serials(&[&device.path]));
    run_to_end(workspace.wipe(&options, &[&device.path])).succeeded();
    let verify = workspace.verify(slowly);
    let grown = resized(verify, "verification", &device, &image, 4 * before);
    assert_eq!(grown.events("ended")[0]["outcome"], "incomplete");
    assert_eq!(grown.code, Some(1), "{}", grown.stderr);
    let report = read(&workspace.verifications()[0]);
    assert_eq!(report["drives"][0]["size_at_end"], 4 * before);
}

pub const TESTS: &[Test] = tests![
    a_device_whose_size_changes_is_incomplete: [LOOP_DEVICES],
    several_are_wiped_at_once_and_nothing_beside_them: [LOOP_DEVICES],
    a_drive_is_not_blank_because_the_cache_is: [LOOP_DEVICES],
    verification_reads_the_medium_and_not_the_cache: [LOOP_DEVICES],
];
