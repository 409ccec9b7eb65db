//! Tests the command `squall-lab`, and other programs in its guests: clones, guests with faulty drives,
//! disk encryption. Each test declares what it needs of the machine.

mod arm64;
mod attack;
mod clones;
mod common;
mod cost;
mod deps;
mod dmcrypt;
mod doors;
mod early_getrandom;
mod faults;
mod go;
mod machines;
mod module;
mod purge;
mod sanitize;
mod stops;
mod test_guests;
mod wipe;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    // Machines take the longest, so they come first: the others run meanwhile.
    suite::main(&[
        arm64::TESTS,
        arm64::preload::TESTS,
        arm64::clones::TESTS,
        dmcrypt::bench::TESTS,
        dmcrypt::authenticated::TESTS,
        dmcrypt::backing::TESTS,
        dmcrypt::killed::TESTS,
        dmcrypt::list::TESTS,
        dmcrypt::recommended::TESTS,
        dmcrypt::refusals::TESTS,
        wipe::becoming_slow::TESTS,
        wipe::chosen::TESTS,
        wipe::given_up::TESTS,
        wipe::health::TESTS,
        wipe::plugged_in::TESTS,
        wipe::returning::TESTS,
        wipe::power::TESTS,
        wipe::refused::TESTS,
        wipe::slow::TESTS,
        wipe::used::TESTS,
        wipe::vanished::TESTS,
        purge::TESTS,
        sanitize::TESTS,
        module::page::TESTS,
        module::usage::TESTS,
        module::firmware::TESTS,
        test_guests::TESTS,
        early_getrandom::TESTS,
        machines::TESTS,
        clones::TESTS,
        doors::TESTS,
        go::TESTS,
        stops::TESTS,
        faults::TESTS,
        attack::TESTS,
        cost::TESTS,
        deps::TESTS,
    ])
}
