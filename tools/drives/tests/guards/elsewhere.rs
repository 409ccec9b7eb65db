//! What the guards say in another process: in a mount namespace of its own, or where the kernel does
//! not answer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use squall_drives::guards::check_claimed;
use squall_testing::refuse::{Refusal, refusing};

use super::WIPE;
use crate::common::find;

/// Names the target that this process is to check, instead of running tests.
const TARGET: &str = "SQUALL_DRIVES_TEST_TARGET";

/// What a process says of a target that is allowed.
const ALLOWED: &str = "allowed";

/// LOOP_GET_STATUS64 of linux/loop.h.
const GET_STATUS: u64 = 0x4c05;

/// The target that this process is to check, if it is not to run tests.
pub fn asked() -> Option<PathBuf> {
    std::env::var_os(TARGET).map(PathBuf::from)
}

/// Checks the uses of `target` that the kernel shows, and says what came of it.
pub fn answer(target: &Path) {
    match check_claimed(&[find(target)], &WIPE) {
        Ok(()) => println!("{ALLOWED}"),
        Err(failure) => println!("{}", failure.into_text()),
    }
}

/// The refusal of `target` where `device` is mounted at /boot; None if it is allowed.
pub fn with_boot_on(device: &Path, target: &Path) -> Option<String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", "mount \"$0\" /boot; exec \"$1\""]);
    command.arg(device).arg(this_program());
    refusal_by(command, target)
}

/// The refusal of `target` in a process that may not ask what loop devices stand on; None if it is
/// allowed.
pub fn unable_to_ask_loop_devices(target: &Path) -> Option<String> {
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
    let output = command.env(TARGET, target).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (said != ALLOWED).then_some(said)
}
