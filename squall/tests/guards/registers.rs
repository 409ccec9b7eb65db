//! Backtracking resistance includes the registers: after a request, no key, round key or state is
//! left in any of them.
//!
//! The search looks for the known secrets of the thread's page before and after the request. It also
//! looks for unknown ones: round keys that follow from one another, and a key that decrypts the output
//! to consecutive counters.

use squall::Engine;

use crate::Verdict;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod blocks;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod dump;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod search;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use self::{
    blocks::{Place, building_blocks as search_building_blocks},
    search::draws as search_draws,
};

/// The secrets that a request left in the registers, if the search found any.
pub struct Finding {
    engine: Engine,
    request: String,
    leaked: Option<String>,
}

/// Stand in for the search where the cases are ignored.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn search_draws() -> Vec<Finding> {
    unimplemented!("a dump of this CPU's registers")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn search_building_blocks(_: Place) -> Vec<Finding> {
    search_draws()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
enum Place {
    Registers,
    Stack,
}

/// Requests of every length class on every engine, as this machine serves them.
pub fn draws() -> Verdict {
    nothing_found(search_draws())
}

/// Requests of every length class, as on a machine without a signal of clones.
pub fn draws_without_signal() -> Verdict {
    squall::hazmat::distrust_clone_signals();
    draws()
}

/// `Stream`, the generators of `hazmat` and the traits of `rand_core`.
pub fn building_blocks() -> Verdict {
    nothing_found(search_building_blocks(Place::Registers))
}

/// The same on the stack.
pub fn building_blocks_stack() -> Verdict {
    nothing_found(search_building_blocks(Place::Stack))
}

/// The control: without clearing, keys are found.
pub fn draws_found() -> Verdict {
    found_everywhere(search_draws())
}

pub fn draws_without_signal_found() -> Verdict {
    squall::hazmat::distrust_clone_signals();
    draws_found()
}

pub fn building_blocks_found() -> Verdict {
    found_everywhere(search_building_blocks(Place::Registers))
}

fn nothing_found(findings: Vec<Finding>) -> Verdict {
    let found = findings.into_iter().filter_map(|finding| {
        let leaked = finding.leaked?;
        Some(format!(
            "{} by {}: {leaked}",
            finding.request, finding.engine
        ))
    });
    match found.collect::<Vec<_>>() {
        found if found.is_empty() => Verdict::Held,
        found => Verdict::Broken(found.join("\n")),
    }
}

/// Broken if every engine leaves something, and every kind of request by some engine.
fn found_everywhere(findings: Vec<Finding>) -> Verdict {
    let is_found = |like: &dyn Fn(&Finding) -> bool| {
        findings
            .iter()
            .any(|finding| finding.leaked.is_some() && like(finding))
    };
    let missed = findings.iter().find(|finding| {
        !is_found(&|other| other.engine == finding.engine)
            || !is_found(&|other| other.request == finding.request)
    });
    match missed {
        Some(finding) => panic!(
            "nothing was found behind {} by {}",
            finding.request, finding.engine
        ),
        None => Verdict::Broken(format!("{} searches found keys", findings.len())),
    }
}
