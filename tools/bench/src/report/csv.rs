//! The report as comma-separated values, for spreadsheets: a line a point.

use serde::Serialize;
use squall_tools::Failure;

use super::model::{Point, Report, Workload};

/// A line; its fields are the columns.
#[derive(Serialize)]
struct Line<'a> {
    workload: &'a str,
    source: &'a str,
    at: u64,
    bytes: u64,
    median_ns: f64,
    low_ns: f64,
    high_ns: f64,
    bytes_per_second: Option<f64>,
    speedup_over_kernel: Option<f64>,
    secure: bool,
    samples: usize,
    discarded: Option<u64>,
}

/// The report, with the names of columns in the first line; what is not known is empty.
///
/// # Errors
/// A line cannot be written.
pub fn csv(report: &Report) -> Result<String, Failure> {
    let lines = report.workloads.iter().flat_map(|workload| {
        workload.series.iter().flat_map(move |series| {
            let points = series.points.iter();
            points.map(move |point| line(report, workload, &series.source, point))
        })
    });
    squall_tools::csv::text(lines)
}

fn line<'a>(report: &Report, workload: &'a Workload, source: &'a str, point: &Point) -> Line<'a> {
    Line {
        workload: &workload.name,
        source,
        at: point.at,
        bytes: point.bytes,
        median_ns: point.ns.median,
        low_ns: point.ns.low,
        high_ns: point.ns.high,
        bytes_per_second: point.rate(),
        speedup_over_kernel: workload.speedup_over_kernel(point),
        secure: report.source(source).is_some_and(|source| source.secure),
        samples: point.ns.samples.len(),
        discarded: point.discarded,
    }
}
