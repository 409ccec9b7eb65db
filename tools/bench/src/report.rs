//! What was measured, the ways to show it, and which source to use on this machine.

pub mod compare;
pub mod document;
pub mod model;
mod plots;
pub mod published;

use serde_json::json;
use squall::CloneGuard;
use squall_tool_base::reports::Line;
use squall_tool_base::units;

use crate::report::model::{Report, Workload, workload};

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

const KEY: u64 = 32;
/// A buffer: the longest of these that was measured.
const BUFFERS: [u64; 2] = [1 << 20, 16 << 10];

/// The sentences; what to run instead if `report` does not have what that takes.
pub fn advice(report: &Report) -> String {
    let Some(fill) = report.workload(workload::FILL) else {
        return "To learn which source to use, run squall bench without --workload.".into();
    };
    match (kernel(report, fill), own(fill, KEY)) {
        (Some(kernel), Some(key)) => sentences(report, fill, kernel, key),
        _ => "To learn which source to use, run squall bench without --source: it compares squall \
              with the kernel's getrandom."
            .into(),
    }
}

/// The kernel's source, with its time for a key in nanoseconds.
fn kernel<'a>(report: &'a Report, fill: &'a Workload) -> Option<(&'a str, f64)> {
    let name = fill.kernel.as_deref()?;
    let point = fill.point(name, KEY)?;
    Some((report.title(name), point.ns.median))
}

fn own(fill: &Workload, at: u64) -> Option<f64> {
    fill.point("squall", at).map(|point| point.ns.median)
}

fn sentences(report: &Report, fill: &Workload, (kernel, theirs): (&str, f64), ours: f64) -> String {
    let [own, their] = [ours, theirs].map(units::time);
    let first = if ours < theirs {
        let bulk = bulk(fill, kernel, "and a long buffer fills");
        format!("Use squall on this machine: {KEY} bytes take {own} ({kernel}: {their}){bulk}.")
    } else {
        let bulk = bulk(fill, kernel, "and for long buffers, which it fills");
        format!(
            "For a key, {kernel} is as good on this machine: {KEY} bytes take {their} (squall: \
             {own}). Use squall for numbers{bulk}."
        )
    };
    let once = "A process that draws only a few times does not need it: plain getrandom will do.";
    [&first, once, guard(report)]
        .join(" ")
        .trim_end()
        .to_owned()
}

/// What it makes of a long buffer, after `how`; nothing if the kernel is as fast.
fn bulk(fill: &Workload, kernel: &str, how: &str) -> String {
    let rate = |at| {
        let point = fill.point("squall", at)?;
        let kernel = fill.point(fill.kernel.as_deref()?, at)?;
        Some((point.rate()?, kernel.rate()?))
    };
    match BUFFERS.into_iter().find_map(rate) {
        Some((ours, theirs)) if ours > theirs => format!(
            ", {how} at {} ({kernel}: {})",
            units::rate(ours),
            units::rate(theirs)
        ),
        _ => String::new(),
    }
}

/// Advice about VM clones on this machine.
fn guard(report: &Report) -> &'static str {
    match CloneGuard::from_name(&report.machine.clone_guard) {
        Some(CloneGuard::Signal(signal)) if signal.is_immediate() => {
            "If this VM is cloned, squall notices before it gives the clone a byte."
        }
        Some(CloneGuard::Signal(_)) => {
            "If this VM is cloned, the kernel learns of it late: until then the clone may get the same \
             bytes from getrandom, but not from squall."
        }
        Some(CloneGuard::NoSignal) => {
            "If this VM is cloned, nothing notifies the kernel: the clone may get the same bytes from \
             getrandom, but not from squall."
        }
        _ => "",
    }
}
