//! Measures the cost of an exit to the hypervisor where this program runs: that of CPUID, which a
//! hypervisor answers in the CPU's place.

use serde::Serialize;
use squall::entropy::{Machine as _, ThisMachine};
use squall_tools::measure::machine::{hypervisor, is_emulated};

use super::order_statistics::{least, median};

const TIMES: usize = 20_000;

/// The cycles of an exit and the way back, or why they were not measured.
#[derive(Debug, Default, Serialize)]
pub struct Exit {
    /// The hypervisor's name.
    pub hypervisor: Option<String>,
    pub times: Option<usize>,
    pub least: Option<u64>,
    pub median: Option<u64>,
    /// Why nothing was measured.
    pub skipped: Option<&'static str>,
}

/// Measures on this machine.
pub fn measure() -> Exit {
    let hypervisor = hypervisor();
    let skipped = if hypervisor.is_none() {
        Some("this machine reports no hypervisor")
    } else if is_emulated() {
        Some("the CPU is emulated, so CPUID causes no exit")
    } else if cpuid().is_none() {
        Some("the CPU has no CPUID")
    } else {
        None
    };
    if skipped.is_some() {
        return Exit {
            hypervisor,
            skipped,
            ..Exit::default()
        };
    }
    let cycles: Vec<_> = (0..TIMES).filter_map(|_| cpuid()).collect();
    Exit {
        hypervisor,
        times: Some(cycles.len()),
        least: least(&cycles),
        median: median(&cycles),
        skipped: None,
    }
}

/// The cycles that CPUID takes. It waits for everything before it, so nothing is counted twice.
#[cfg(target_arch = "x86_64")]
fn cpuid() -> Option<u64> {
    let before = ThisMachine.cycles();
    std::hint::black_box(std::arch::x86_64::__cpuid(0));
    Some(ThisMachine.cycles().wrapping_sub(before))
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid() -> Option<u64> {
    None
}
