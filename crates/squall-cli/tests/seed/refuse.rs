//! System calls that fail, as in a sandbox or early at boot (seccomp).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::common::squall;

unsafe extern "C" {
    fn prctl(option: i32, ...) -> i32;
}

/// Struct sock_filter.
#[repr(C)]
struct Instruction(u16, u8, u8, u32);

/// Struct sock_fprog.
#[repr(C)]
struct Program {
    len: u16,
    instructions: *const Instruction,
}

/// A system call that fails with `errno` when one of its arguments has a value.
#[derive(Clone, Copy)]
pub struct Refusal {
    pub call: u32,
    pub argument: u32,
    pub value: u32,
    pub errno: u32,
}

#[cfg(target_arch = "x86_64")]
pub mod call {
    pub const IOCTL: u32 = 16;
    pub const SOCKET: u32 = 41;
    pub const GETRANDOM: u32 = 318;
}
#[cfg(not(target_arch = "x86_64"))]
pub mod call {
    pub const IOCTL: u32 = 29;
    pub const SOCKET: u32 = 198;
    pub const GETRANDOM: u32 = 278;
}

/// Makes this process suffer `refusals`. Allocates nothing, for use after a fork.
fn refuse(refusals: [Refusal; 2]) -> io::Result<()> {
    const PR_SET_SECCOMP: i32 = 22;
    const PR_SET_NO_NEW_PRIVS: i32 = 38;
    const SECCOMP_MODE_FILTER: u64 = 2;
    /// Where struct seccomp_data has its arguments.
    const ARGUMENTS_AT: u32 = 16;
    // Load the number of the call, go to the next refusal unless it is the one; load the
    // argument, likewise; fail.
    let steps = |refusal: Refusal| {
        [
            Instruction(0x20, 0, 0, 0),
            Instruction(0x15, 0, 3, refusal.call),
            Instruction(0x20, 0, 0, ARGUMENTS_AT + 8 * refusal.argument),
            Instruction(0x15, 0, 1, refusal.value),
            Instruction(0x06, 0, 0, 0x0005_0000 | refusal.errno),
        ]
    };
    let [first, second] = refusals.map(steps);
    let instructions = (first, second, Instruction(0x06, 0, 0, 0x7fff_0000));
    let program = Program {
        len: (size_of_val(&instructions) / size_of::<Instruction>()) as u16,
        instructions: (&raw const instructions).cast(),
    };
    // SAFETY: neither call writes memory, and the second reads a program that is alive.
    let done = unsafe {
        prctl(PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) == 0
            && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    match done {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// The command with `arguments`, suffering `refusals`.
pub fn refusing(arguments: &str, refusals: [Refusal; 2]) -> Command {
    let mut command = squall(arguments);
    // SAFETY: only system calls are made between fork and exec.
    unsafe { command.pre_exec(move || refuse(refusals)) };
    command
}
