//! What was measured, and the ways to show it.

pub mod compare;
pub mod document;
pub mod model;
mod plots;
pub mod published;

use serde_json::json;
use squall_tool_base::reports::Line;

use model::Report;

/// The lines of CSV: one for each point. What is not known is empty.
pub fn lines(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    for workload in &report.workloads {
        for series in &workload.series {
            let source = report.source(&series.source);
            lines.extend(series.points.iter().map(|point| {
                let ns = &point.ns;
                vec![
                    ("workload", json!(workload.name)),
                    ("source", json!(series.source)),
                    ("at", json!(point.at)),
                    ("bytes", json!(point.bytes)),
                    ("median_ns", json!(ns.median)),
                    ("low_ns", json!(ns.low)),
                    ("high_ns", json!(ns.high)),
                    ("bytes_per_second", json!(point.rate())),
                    (
                        "speedup_over_kernel",
                        json!(workload.speedup_over_kernel(point)),
                    ),
                    ("secure", json!(source.is_some_and(|source| source.secure))),
                    ("samples", json!(ns.samples.len())),
                ]
            }));
        }
    }
    lines
}
