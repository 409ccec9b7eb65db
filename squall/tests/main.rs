//! The library through its public functions, with slow references and answers from outside beside it.

mod allocations;
#[path = "../../drbg/tests/common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of squall-drbg")]
mod common;
mod rng;
mod stream;
#[path = "../../drbg/tests/suite.rs"]
#[allow(dead_code, reason = "shared with the tests of squall-drbg")]
mod suite;
mod whirlwind;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let required = suite::required();
    let once = [
        allocations::TESTS,
        rng::TESTS,
        stream::TESTS,
        whirlwind::TESTS,
        whirlwind::game::TESTS,
    ];
    let once = once.into_iter().flatten().map(suite::Test::trial);
    let on_each_engine = stream::ON_EACH_ENGINE.iter();
    let on_each_engine = on_each_engine.flat_map(|test| test.trials(&required));
    libtest_mimic::run(&arguments, once.chain(on_each_engine).collect()).exit_code()
}
