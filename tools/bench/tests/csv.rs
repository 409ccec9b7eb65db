//! `--export-csv`: a line a point, read back by another program's rules.

use squall_bench::report::csv::csv;
use squall_bench::report::model::workload;

use crate::fixture::fixture;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_line_a_point,
    figures_are_those_of_the_report,
    text_with_commas_and_quotes_is_quoted,
];

const COLUMNS: &str = "workload,source,at,bytes,median_ns,low_ns,high_ns,bytes_per_second,\
                       speedup_over_kernel,secure,samples,discarded";

fn a_line_a_point() {
    let report = fixture();
    let text = csv(&report).expect("CSV");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    let series = report
        .workloads
        .iter()
        .flat_map(|workload| &workload.series);
    let points: usize = series.map(|series| series.points.len()).sum();
    assert_eq!(lines.count(), points);
}

fn figures_are_those_of_the_report() {
    let report = fixture();
    let text = csv(&report).expect("CSV");
    let line = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no line {start}"));
        line.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let fill = report.workload(workload::FILL).expect("it is in it");
    let point = fill.point("squall", 1024).expect("a point");
    let squall = line("fill,squall,1024,");
    assert_eq!(squall[4], point.ns.median.to_string());
    assert_eq!(squall[7], point.rate().expect("bytes").to_string());
    let ratio = fill.speedup_over_kernel(point).expect("the kernel's");
    assert!(ratio > 10.0);
    assert_eq!(squall[8], ratio.to_string());
    assert_eq!(squall[9..], ["true", "9", ""]);
    assert_eq!(line("fill,urandom,1024,")[8], "1.0");
    assert_eq!(line("fill,thread-rng,1024,")[9], "false");
    assert_eq!(line("vdso-proposal,pool-vdso,4,")[11], "61440");
    // A run makes no bytes, and so has no rate.
    assert_eq!(line("go-pipeline,squall,10,")[7], "");
}

fn text_with_commas_and_quotes_is_quoted() {
    let mut report = fixture();
    report.workloads[0].series[0].source = "a \"quoted\", strange\nname".into();
    let text = csv(&report).expect("CSV");
    let quoted = "words,\"a \"\"quoted\"\", strange\nname\",4,";
    assert!(text.contains(quoted), "{text}");
}
