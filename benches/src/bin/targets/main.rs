//! Measures what squall set out to reach and prints a Markdown table of it.
//!
//! `cargo run --release -p squall-benches --bin targets`, two minutes. Each row compares squall
//! with a peer in turns; the ratio is the median over the rounds. Where a target is out of this
//! machine's reach, a note behind the table says why.

mod engines;
mod fills;
mod machine;
mod process;
mod report;
mod words;

fn main() {
    squall_benches::startup::serve_child();
    machine::describe();
    let mut report = report::Report::default();
    engines::measure(&mut report);
    fills::measure(&mut report);
    words::measure(&mut report);
    process::measure(&mut report);
    report.print();
}
