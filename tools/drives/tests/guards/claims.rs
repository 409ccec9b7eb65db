//! Targets that somebody has claimed where the kernel does not show it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{FlockOperation, Mode, OFlags};
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::{LOOP_DEVICES, MOUNTS};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::{allowed, refused};
use crate::common::{MIB, find, writable};

/// What is said of a claim whose owner the kernel does not show.
const CLAIMED: &[&str] = &["another process is using it"];

/// A mount in a mount namespace of its own, until it is dropped.
struct Hidden(Child);

impl Hidden {
    fn mount(device: &Path, point: &Path) -> Hidden {
        fs::create_dir_all(point).expect("a mount point");
        let script = "mount \"$0\" \"$1\"; echo; read end";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-ec", script]);
        command.args([device, point]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let said = child.stdout.as_mut().expect("a pipe");
        said.read_exact(&mut [0]).expect("it is mounted");
        Hidden(child)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let mut end = self.0.stdin.take().expect("a pipe");
        end.write_all(b"\n").expect("it reads");
        self.0.wait().expect("it ends");
    }
}

fn mkfs(arguments: &[&str], on: &Path) {
    let mut command = Command::new("mke2fs");
    let output = command.arg("-qF").args(arguments).arg(on).output();
    let output = output.expect("mke2fs runs");
    assert!(output.status.success(), "{output:?}");
}

fn a_mount_in_another_namespace() {
    let lab = Lab::new();
    let device = lab.device(8 * MIB);
    let part = device.part(1, MIB, 4 * MIB);
    for path in [&part.path, &device.path] {
        mkfs(&[], path);
        let mount = Hidden::mount(path, &lab.path("hidden"));
        refused(&[find(path)], CLAIMED);
        refused(&[find(&device.path)], CLAIMED);
        drop(mount);
        allowed(&[find(path)]);
        allowed(&[find(&device.path)]);
    }
}

fn the_journal_of_a_mounted_file_system() {
    let lab = Lab::new();
    let [journal, data] = [(); 2].map(|()| lab.device(16 * MIB));
    mkfs(&["-O", "journal_dev", "-b", "4096"], &journal.path);
    let option = format!("device={}", journal.path.display());
    mkfs(&["-t", "ext4", "-b", "4096", "-J", &option], &data.path);
    allowed(&[find(&journal.path)]);
    let mount = lab.mount(&data.path);
    refused(&[find(&journal.path)], CLAIMED);
    drop(mount);
    allowed(&[find(&journal.path)]);
}

fn a_device_that_a_process_has_claimed_or_locked() {
    let lab = Lab::new();
    let device = Loop::attach(&[], &lab.image("image", 4 * MIB));
    let targets = [find(&device.path)];
    let claim = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(&device.path, claim, Mode::empty()).expect("it opens");
    refused(&targets, CLAIMED);
    drop(theirs);
    allowed(&targets);
    let theirs = File::open(&device.path).expect("it opens");
    rustix::fs::flock(&theirs, FlockOperation::LockExclusive).expect("a lock");
    refused(&targets, &["another process has locked it"]);
    drop(theirs);
    allowed(&targets);
}

fn a_file_that_a_process_has_open_or_locked() {
    let lab = Lab::new();
    let image = lab.image("image", MIB);
    allowed(&[find(&image)]);
    let theirs = writable(&image);
    refused(&[find(&image)], CLAIMED);
    rustix::fs::flock(&theirs, FlockOperation::LockShared).expect("a lock");
    refused(&[find(&image)], &["another process has locked it"]);
    drop(theirs);
    allowed(&[find(&image)]);
}

pub const TESTS: &[Test] = tests![
    a_mount_in_another_namespace: [LOOP_DEVICES, MOUNTS],
    the_journal_of_a_mounted_file_system: [LOOP_DEVICES],
    a_device_that_a_process_has_claimed_or_locked: [LOOP_DEVICES],
    a_file_that_a_process_has_open_or_locked,
];
