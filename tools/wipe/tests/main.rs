//! `squall wipe` on real kernels.

mod guests;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[
        guests::becoming_slow::TESTS,
        guests::chosen::TESTS,
        guests::given_up::TESTS,
        guests::health::TESTS,
        guests::plugged_in::TESTS,
        guests::returning::TESTS,
        guests::power::TESTS,
        guests::refused::TESTS,
        guests::slow::TESTS,
        guests::used::TESTS,
        guests::vanished::TESTS,
        guests::purge::TESTS,
        guests::sanitize::TESTS,
    ])
}
