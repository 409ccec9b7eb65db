//! `squall dmcrypt` on devices, and on real kernels in guests.

mod guests;
mod measure;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[
        guests::bench::TESTS,
        guests::authenticated::TESTS,
        guests::backing::TESTS,
        guests::killed::TESTS,
        guests::list::TESTS,
        guests::recommended::TESTS,
        guests::refusals::TESTS,
        measure::TESTS,
    ])
}
