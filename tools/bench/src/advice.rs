//! Which should I use? One sentence for this machine, from what was measured on it.

use crate::report::model::{Report, Workload, workload};
use squall_tools::units;

const KEY: u64 = 32;
/// A buffer: the longest of these that was measured.
const BUFFERS: [u64; 2] = [1 << 20, 16 << 10];

pub fn advice(report: &Report) -> String {
    let Some(fill) = report.workload(workload::FILL) else {
        return "To learn which source to use, run squall bench without --workload.".into();
    };
    match (kernel(report, fill), own(fill, KEY)) {
        (Some(kernel), Some(key)) => sentence(report, fill, kernel, key),
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

fn sentence(report: &Report, fill: &Workload, (kernel, theirs): (&str, f64), ours: f64) -> String {
    let keys = if ours < theirs {
        format!(
            "use squall for keys and numbers ({} for {KEY} bytes; {kernel} takes {})",
            units::time(ours),
            units::time(theirs)
        )
    } else {
        format!(
            "use squall for numbers; for {KEY} bytes {kernel} is no slower ({} against {})",
            units::time(theirs),
            units::time(ours)
        )
    };
    let once = "plain getrandom if a process draws only a few times";
    format!(
        "On this machine {keys}{}, and {once}{}.",
        bulk(fill),
        guard(report)
    )
}

/// What it makes of a long buffer.
fn bulk(fill: &Workload) -> String {
    let rate = |at| {
        let point = fill.point("squall", at)?;
        let kernel = fill.point(fill.kernel.as_deref()?, at)?;
        Some((point.rate()?, kernel.rate()?))
    };
    match BUFFERS.into_iter().find_map(rate) {
        Some((ours, theirs)) if ours > theirs => format!(
            ", and for bulk ({} where the kernel makes {})",
            units::rate(ours),
            units::rate(theirs)
        ),
        _ => String::new(),
    }
}

/// What is to be known of clones here.
fn guard(report: &Report) -> &'static str {
    match report.machine.clone_guard.as_str() {
        "vmgenid" => {
            "; vmgenid announces clones of this VM late: until then getrandom may repeat in a clone, \
             while squall does not"
        }
        "no-signal" => {
            "; nothing announces clones of this VM: getrandom may repeat in a clone, while squall \
             does not"
        }
        "vmclock" | "vmgenid-page" => {
            "; squall sees before it serves anything whether this VM is a clone"
        }
        _ => "",
    }
}
