//! `squall dmcrypt` on devices, and on real kernels in guests.

/// `squall dmcrypt` on a real kernel, and what these tests rely on.
mod guests {
    pub mod bench;
    pub mod killed;
    pub mod list;
    pub mod recommended;
    pub mod refusals;
    pub mod workspace;
}
mod measure;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[
        guests::bench::TESTS,
        guests::killed::TESTS,
        guests::list::TESTS,
        guests::recommended::TESTS,
        guests::refusals::TESTS,
        measure::TESTS,
    ])
}
