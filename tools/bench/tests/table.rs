//! The report on a terminal, as it was when somebody last looked at it.

use squall_bench::advice::advice;
use squall_bench::report::model::workload::FILL;
use squall_bench::report::table::table;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::fixture::fixture;

pub const TESTS: &[Test] = tests![
    the_table_is_as_it_was,
    of_no_figures_there_is_no_table,
    advice_follows_the_figures,
];

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

/// The snapshot has the usual advice. squall is not praised for what it is no better at, and nothing is
/// advised without figures.
fn advice_follows_the_figures() {
    let mut report = fixture();
    let fill = report.workloads.iter_mut().find(|it| it.name == FILL);
    let fill = fill.expect("it is in it");
    let kernel = fill.kernel.clone().expect("a source");
    for series in &mut fill.series {
        if series.source == kernel {
            series.source = "squall".into();
        } else if series.source == "squall" {
            series.source.clone_from(&kernel);
        }
    }
    report.machine.clone_guard = "none".into();
    assert_eq!(
        advice(&report),
        "For a key, /dev/urandom is as good on this machine: 32 bytes take 40.2 ns (squall: \
         477 ns). Use squall for numbers. A process that draws only a few times does not need it: \
         plain getrandom will do."
    );
    report.workloads.retain(|it| it.name != FILL);
    assert!(advice(&report).contains("run squall bench without --workload"));
}
