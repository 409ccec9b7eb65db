//! Tests `squall-lab` as a user runs it, and what it is used for: clones, guests with faulty drives,
//! disk encryption. Each module says what it tests. Tests declare what they need of the machine.

mod arm64;
mod attack;
mod clones;
mod common;
mod cost;
mod deps;
mod dmcrypt;
mod doors;
mod faults;
mod go;
mod machines;
mod module;
mod purge;
mod stops;
mod unready;
mod wipe;
mod workshop;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    // Machines take the longest, so they come first: the others run meanwhile.
    suite::main(&[
        arm64::TESTS,
        dmcrypt::bench::TESTS,
        dmcrypt::backing::TESTS,
        dmcrypt::gone::TESTS,
        dmcrypt::list::TESTS,
        dmcrypt::recommended::TESTS,
        dmcrypt::refusals::TESTS,
        wipe::becoming_slow::TESTS,
        wipe::power::TESTS,
        wipe::refused::TESTS,
        wipe::slow::TESTS,
        wipe::used::TESTS,
        wipe::vanished::TESTS,
        purge::TESTS,
        module::page::TESTS,
        module::use_of_it::TESTS,
        module::firmware::TESTS,
        workshop::TESTS,
        unready::TESTS,
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
