//! Backtracking resistance includes the registers: after a request, no key, round key or state is
//! left in any of them.
//!
//! The search looks for the known secrets of the thread's page before and after the request, and
//! for unknown ones: round keys that follow from one another, and a key that decrypts the output
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
use self::{blocks::building_blocks as look_at_building_blocks, search::draws as look_at_draws};

/// What a request left in the registers.
pub struct Look {
    engine: Engine,
    request: String,
    left: Option<String>,
}

/// Stand in for the search where the cases are ignored.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn look_at_draws() -> Vec<Look> {
    unimplemented!("a dump of this CPU's registers")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn look_at_building_blocks() -> Vec<Look> {
    look_at_draws()
}

/// Requests of every length class on every engine, as this machine serves them.
pub fn draws() -> Verdict {
    nothing_found(look_at_draws())
}

/// Requests of every length class, as on a machine without a signal of clones.
pub fn draws_without_signal() -> Verdict {
    squall::hazmat::distrust_clone_signals();
    draws()
}

/// `Stream`, `Keystream` and the generators of `hazmat`.
pub fn building_blocks() -> Verdict {
    nothing_found(look_at_building_blocks())
}

/// The control: without clearing, keys are found.
pub fn draws_found() -> Verdict {
    found_everywhere(look_at_draws())
}

pub fn draws_without_signal_found() -> Verdict {
    squall::hazmat::distrust_clone_signals();
    draws_found()
}

pub fn building_blocks_found() -> Verdict {
    found_everywhere(look_at_building_blocks())
}

fn nothing_found(looks: Vec<Look>) -> Verdict {
    match looks.iter().find(|look| look.left.is_some()) {
        None => Verdict::Held,
        Some(look) => Verdict::Broken(format!(
            "{} by {}: {:?}",
            look.request, look.engine, look.left
        )),
    }
}

/// Broken if every engine leaves something, and every kind of request by some engine.
fn found_everywhere(looks: Vec<Look>) -> Verdict {
    let is_found =
        |like: &dyn Fn(&Look) -> bool| looks.iter().any(|look| look.left.is_some() && like(look));
    let missed = looks.iter().find(|look| {
        !is_found(&|other| other.engine == look.engine)
            || !is_found(&|other| other.request == look.request)
    });
    match missed {
        Some(look) => panic!(
            "nothing was found behind {} by {}",
            look.request, look.engine
        ),
        None => Verdict::Broken(format!("{} looks found keys", looks.len())),
    }
}
