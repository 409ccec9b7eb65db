//! The first 32 bytes of a new process, by its own clock.
//!
//! What is loaded before (the program, and libraries that are loaded at run time) is not counted;
//! everything that the first call does is: pages that are touched for the first time, a device
//! that is opened, a library that initialises itself. Of OpenSSL it is RAND_bytes alone.

use std::hint::black_box;
use std::time::Instant;

use squall_tools::Failure;
use squall_tools::measure::Spread;
use squall_tools::measure::lanes::Lane;

use crate::measure::single;

use super::child::{Child, NOTHING};

/// Bytes that are drawn.
pub const LEN: usize = 32;

/// Readings of the clock that its cost is the median of.
const READINGS: usize = 31;

/// A lane for each of `sources`: nanoseconds for the first [`LEN`] bytes of a process. `nothing`
/// is the control.
pub fn lanes(sources: &[&str]) -> Vec<Lane<'static>> {
    let lane = |source: &&str| {
        let child = Child::FirstBytes((*source).to_owned());
        single(source, move || child.measure())
    };
    sources.iter().map(lane).collect()
}

/// Nanoseconds that the first call of `draw` takes; the clock's own first use comes before it, and
/// what the clock costs is subtracted.
pub(super) fn time(source: &str, draw: &mut dyn FnMut(&mut [u8])) -> Result<f64, Failure> {
    let clock_cost = clock_cost();
    let mut out = [0; LEN];
    let clock = Instant::now();
    draw(black_box(&mut out));
    let elapsed = clock.elapsed().as_nanos() as f64;
    match black_box(out) == [0; LEN] && source != NOTHING {
        true => Err(Failure::Runtime(format!("{source}: it gave no bytes"))),
        // The clock tells no less than a nanosecond.
        false => Ok((elapsed - clock_cost).max(1.0)),
    }
}

/// Nanoseconds between two readings of the clock that follow each other.
fn clock_cost() -> f64 {
    let reading = |_| Instant::now().elapsed().as_nanos() as f64;
    Spread::of((0..READINGS).map(reading).collect()).median
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_gives_nothing_is_a_failure() {
        assert!(time("broken", &mut |_| ()).is_err());
        assert!(time(NOTHING, &mut |_| ()).is_ok());
        let ns = time("slow", &mut |out| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            out.fill(1);
        });
        assert!((2e6..1e9).contains(&ns.unwrap()));
    }
}
