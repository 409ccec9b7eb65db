//! Drives as the kernel shows them: what a name stands for, what is in use, and who else has it open.

mod claims;
mod common;
mod guards;
mod target;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    if let Some(target) = guards::elsewhere::asked() {
        guards::elsewhere::answer(&target);
        return ExitCode::SUCCESS;
    }
    suite::main(&[
        claims::TESTS,
        guards::names::TESTS,
        guards::stacks::TESTS,
        guards::system::TESTS,
        guards::uses::TESTS,
        target::TESTS,
    ])
}
