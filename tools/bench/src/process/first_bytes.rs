//! The first bytes of a new process, by its own clock.
//!
//! Loading the program and the libraries that it opens at run time is not counted. Everything that
//! the first call does is: it touches new pages, opens a device, initialises a library. Of OpenSSL
//! it is RAND_bytes alone.

use std::hint::black_box;
use std::time::Instant;

use squall_tools::Failure;
use squall_tools::measure::Spread;

use crate::unopened::Unopened;

/// Readings of the clock, whose median is its cost.
const READINGS: usize = 31;

/// Nanoseconds that the first draw takes, less what the clock costs.
pub fn time(source: &mut Unopened, bytes: usize) -> Result<f64, Failure> {
    // This is also the clock's own first use.
    let reading = |_| Instant::now().elapsed().as_nanos() as f64;
    let clock_cost = Spread::of((0..READINGS).map(reading).collect()).median;
    let mut out = vec![0; bytes];
    let clock = Instant::now();
    let drawn = source.draw(black_box(&mut out));
    let elapsed = clock.elapsed().as_nanos() as f64;
    drawn?;
    if !source.is_nothing() && black_box(out).iter().all(|&byte| byte == 0) {
        return Err(Failure::Runtime("it returned no bytes".into()));
    }
    // The clock's resolution is a nanosecond.
    Ok((elapsed - clock_cost).max(1.0))
}
