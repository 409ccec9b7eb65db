//! The library through its public functions, with slow references and answers from outside beside it.

mod allocations;
mod common;
mod engines;
mod rng;
mod stream;
mod suite;
mod vectors;
mod whirlwind;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let required = std::env::var("SQUALL_REQUIRE_ENGINES").unwrap_or_default();
    let required = suite::engines(&required).expect("SQUALL_REQUIRE_ENGINES names engines");
    let once = [
        allocations::TESTS,
        engines::TESTS,
        rng::TESTS,
        stream::TESTS,
        suite::TESTS,
        vectors::TESTS,
        whirlwind::TESTS,
        whirlwind::game::TESTS,
    ];
    let on_each_engine = [
        engines::ON_EACH_ENGINE,
        stream::ON_EACH_ENGINE,
        vectors::ON_EACH_ENGINE,
    ];
    let once = once.into_iter().flatten().map(suite::Test::trial);
    let on_each_engine = on_each_engine.into_iter().flatten();
    let on_each_engine = on_each_engine.flat_map(|test| test.trials(&required));
    libtest_mimic::run(&arguments, once.chain(on_each_engine).collect()).exit_code()
}
