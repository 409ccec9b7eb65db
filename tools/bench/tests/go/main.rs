//! Sources in processes of their own, by real processes: ours, Go's, and such that hang, die or
//! talk nonsense.

mod article;
mod child;
mod program;
mod served;
mod silence;

use squall_bench::go::{self, Program};
use squall_tools::Failure;

/// Go's program; says SKIP where Go is not installed. That it cannot be built is a failure.
fn go() -> Option<Program> {
    match go::program(true) {
        Ok(program) => Some(program),
        Err(reason) if reason == "Go is not installed" => {
            println!("SKIP: {reason}");
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// What a failure says.
fn words<T>(result: Result<T, Failure>) -> String {
    match result {
        Err(Failure::Runtime(words)) => words,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it did not fail"),
    }
}
