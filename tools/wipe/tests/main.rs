//! `squall wipe` on real kernels, with drives that refuse, corrupt, slow down, hang or vanish,
//! with power cuts, and with drives that are in use.
//!
//! Each scenario has a control: the same without the fault, which must end differently.

mod guests {
    pub mod chosen;
    pub mod paths;
    pub mod power;
    pub mod refused;
    pub mod sanitize;
    pub mod slow;
    pub mod stacks;
    pub mod used;
    pub mod vanished;
    pub mod workspace;
}

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[
        guests::chosen::TESTS,
        guests::paths::TESTS,
        guests::power::TESTS,
        guests::refused::TESTS,
        guests::sanitize::TESTS,
        guests::slow::TESTS,
        guests::stacks::TESTS,
        guests::used::TESTS,
        guests::vanished::TESTS,
    ])
}
