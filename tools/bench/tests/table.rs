//! The report on a terminal, as it was when somebody last looked at it.

use squall_bench::report::table::table;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::fixture::fixture;

pub const TESTS: &[Test] = tests![the_table_is_as_it_was, of_no_figures_there_is_no_table];

/// `INSTA_UPDATE=always` takes a table that was changed on purpose.
fn the_table_is_as_it_was() {
    insta::assert_snapshot!("table", table(&fixture()));
}

fn of_no_figures_there_is_no_table() {
    let mut report = fixture();
    report.workloads.clear();
    report.complete = false;
    let text = table(&report);
    assert!(
        text.contains("INCOMPLETE: ") && !text.contains("fit for secrets:"),
        "{text}"
    );
}
