//! Tests the counters of processes that die.

mod counters;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    if counters::is_counting_child() {
        counters::count_and_die();
    }
    suite::main(&[counters::TESTS])
}
