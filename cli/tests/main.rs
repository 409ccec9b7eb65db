//! Tests `squall` as a user runs it.

mod arguments;
mod bench;
mod clones;
mod common;
mod completions;
mod dmcrypt;
mod drives;
mod limits;
mod man;
mod openssl_conf;
mod outputs;
mod run;
mod seed;
mod status;
mod stream;
mod wipe;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    wipe::terminal::silence_if_asked();
    // Tests that mostly wait come first: the others run meanwhile.
    suite::main(&[
        clones::TESTS,
        clones::leases::TESTS,
        wipe::loops::TESTS,
        wipe::then::TESTS,
        wipe::interrupted::TESTS,
        wipe::terminal::TESTS,
        wipe::signals::TESTS,
        wipe::reports::TESTS,
        arguments::TESTS,
        bench::TESTS,
        clones::hooks::TESTS,
        completions::TESTS,
        dmcrypt::TESTS,
        drives::TESTS,
        limits::TESTS,
        man::TESTS,
        openssl_conf::TESTS,
        outputs::TESTS,
        status::TESTS,
        stream::TESTS,
        run::installed::TESTS,
        run::passed::TESTS,
        run::python::TESTS,
        run::refused::TESTS,
        seed::TESTS,
        wipe::blank::TESTS,
        wipe::contents::TESTS,
        wipe::errors::TESTS,
        wipe::listed::TESTS,
        wipe::verified::TESTS,
    ])
}
