//! What was measured, and the ways to show it.

pub mod compare;
pub mod document;
pub mod model;
mod plots;
pub mod published;

use serde::Serialize;

use model::Report;

/// A line of CSV: a point. Its fields are the columns; what is not known is empty.
#[derive(Serialize)]
pub struct Line<'a> {
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
}

/// The lines of CSV.
pub fn lines(report: &Report) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for workload in &report.workloads {
        for series in &workload.series {
            let source = report.source(&series.source);
            lines.extend(series.points.iter().map(|point| Line {
                workload: &workload.name,
                source: &series.source,
                at: point.at,
                bytes: point.bytes,
                median_ns: point.ns.median,
                low_ns: point.ns.low,
                high_ns: point.ns.high,
                bytes_per_second: point.rate(),
                speedup_over_kernel: workload.speedup_over_kernel(point),
                secure: source.is_some_and(|source| source.secure),
                samples: point.ns.samples.len(),
            }));
        }
    }
    lines
}
