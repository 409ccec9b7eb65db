//! The crate through its public functions, with slow references and answers from outside beside it.

mod acvp;
mod common;
mod engines;
mod reference;
mod suite;
mod vectors;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let required = suite::required();
    let once = [
        acvp::TESTS,
        engines::TESTS,
        reference::TESTS,
        suite::TESTS,
        vectors::TESTS,
    ];
    let on_each_engine = [
        engines::ON_EACH_ENGINE,
        reference::ON_EACH_ENGINE,
        vectors::ON_EACH_ENGINE,
    ];
    let once = once.into_iter().flatten().map(suite::Test::trial);
    let on_each_engine = on_each_engine.into_iter().flatten();
    let on_each_engine = on_each_engine.flat_map(|test| test.trials(&required));
    libtest_mimic::run(&arguments, once.chain(on_each_engine).collect()).exit_code()
}
