//! What a process that has drawn pays at each fork, as lmbench's lat_proc measures it ("fork +
//! exit"): a process of its own forks, the child draws or does not and exits at once, the parent
//! waits for it.

use std::hint::black_box;
use std::time::Instant;

use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::measure::lanes::Lane;
use squall_tools::measure::{Spread, fork};

use crate::measure::single;

use super::child::Child;

/// Forks of a process that are not counted, and that are.
const WARM_UP: usize = 5;
const FORKS: usize = 50;

/// Most bytes that a child draws.
const MAX: usize = 4096;

/// A lane for each of `sources`: nanoseconds a fork, the median of a process that has drawn and
/// whose children draw `bytes` before they exit. `nothing` is the control.
pub fn lanes(sources: &[&str], bytes: usize) -> Vec<Lane<'static>> {
    let lane = |source: &&str| {
        let child = Child::Forks((*source).to_owned(), bytes);
        single(source, move || child.measure())
    };
    sources.iter().map(lane).collect()
}

/// The median of forks of this process, in nanoseconds.
pub(super) fn time(bytes: usize, draw: &mut dyn FnMut(&mut [u8])) -> Result<f64, Failure> {
    if bytes > MAX {
        let message = format!("a forked child draws {MAX} bytes at most");
        return Err(Failure::Runtime(message));
    }
    warm_up(draw);
    let mut times = Vec::with_capacity(FORKS);
    for turn in 0..WARM_UP + FORKS {
        let ns = fork_once(bytes, draw);
        let ns = ns.map_err(|error| Failure::Runtime(format!("fork: {}", cause(&error))))?;
        if turn >= WARM_UP {
            times.push(ns);
        }
    }
    Ok(Spread::of(times).median)
}

/// Draws as a program that goes on drawing does: a first request may be served on its own, and
/// the next ones fill a buffer.
fn warm_up(draw: &mut dyn FnMut(&mut [u8])) {
    let mut out = [0; 32];
    for _ in 0..4 {
        draw(black_box(&mut out));
    }
}

fn fork_once(bytes: usize, draw: &mut dyn FnMut(&mut [u8])) -> std::io::Result<f64> {
    let clock = Instant::now();
    let forked = fork::fork(|| {
        let mut out = [0; MAX];
        if bytes > 0 {
            draw(black_box(&mut out[..bytes]));
        }
        true
    })?;
    forked.wait()?;
    Ok(clock.elapsed().as_nanos() as f64)
}
