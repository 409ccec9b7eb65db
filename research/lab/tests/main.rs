//! Tests the command `squall-lab`, and other programs in its guests: clones, copies of processes, guests with faulty drives,
//! disk encryption. Each test declares what it needs of the machine.

mod arm64;
mod attack;
mod clones;
mod common;
mod device;
mod early_getrandom;
mod faults;
mod kernel_modules;
#[cfg(target_arch = "x86_64")]
mod kvm;
mod machines;
mod module;
mod processes;
mod programs;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    // Machines take the longest, so they come first: the others run meanwhile.
    suite::main(&[
        arm64::TESTS,
        device::TESTS,
        module::TESTS,
        module::firmware::TESTS,
        early_getrandom::TESTS,
        machines::TESTS,
        clones::TESTS,
        programs::TESTS,
        processes::TESTS,
        faults::TESTS,
        attack::TESTS,
        #[cfg(target_arch = "x86_64")]
        kvm::TESTS,
    ])
}
