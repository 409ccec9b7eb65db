//! What was measured, and the ways to show it.

pub mod compare;
pub mod document;
pub mod model;
mod plots;
pub mod published;

use serde::Serialize;

use model::{Point, Report, Workload};

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
    discarded: Option<u64>,
}

/// The lines of CSV.
pub fn lines(report: &Report) -> Vec<Line<'_>> {
    let lines = report.workloads.iter().flat_map(|workload| {
        workload.series.iter().flat_map(move |series| {
            let points = series.points.iter();
            points.map(move |point| line(report, workload, &series.source, point))
        })
    });
    lines.collect()
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
