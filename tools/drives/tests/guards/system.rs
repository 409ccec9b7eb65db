//! Disks that the running system is on.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use squall_drives::Number;
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::{LOOP_DEVICES, MOUNTS};
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use super::elsewhere::with_boot_on;
use super::{allowed, refusal, refused};
use crate::common::{MIB, find};

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
    refused(&[find(&disk)], &["of the running system: /", " is on it"]);
}

fn what_has_bytes_of_a_disk_of_the_system() {
    let lab = Lab::new();
    let disk = lab.device(8 * MIB);
    let part = disk.part(1, MIB, 4 * MIB);
    let mount = lab.mounted(&part.path);
    let file = lab.path("a mount/file");
    fs::write(&file, "text").unwrap();
    let (above, on_file) = (
        Loop::attach(&[], &disk.path),
        Loop::attach(&["--sizelimit", "512"], &lab.image("a mount/image", 4096)),
    );
    let refused_elsewhere = |device: &Loop, words: &str| {
        let text = with_boot_on(&part.path, &device.path).expect("a refusal");
        assert!(text.contains(words), "{text}");
    };
    let text = refusal(&[find(&above.path)]);
    assert!(!text.contains("running system"), "{text}");
    refused_elsewhere(&above, "is on a disk of the running system: /boot is on it");
    refused_elsewhere(&disk, "is a disk of the running system: /boot is on it");
    allowed(&[find(&on_file.path)]);
    assert_eq!(with_boot_on(&part.path, &on_file.path), None);
    drop((on_file, above, mount));
}

pub const TESTS: &[Test] = tests![
    the_disk_of_the_running_system: [SYSTEM_DISK],
    what_has_bytes_of_a_disk_of_the_system: [LOOP_DEVICES, MOUNTS],
];
