//! What a process that has drawn pays for a fork, as lmbench's lat_proc measures it ("fork + exit"):
//! the process forks, the child draws or does not and exits at once, and the parent waits for it.

use std::hint::black_box;
use std::time::Instant;

use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::measure::{Spread, fork};

use crate::unopened::Unopened;

/// Forks of a process that are not counted, and that are.
const WARM_UP: usize = 5;
const FORKS: usize = 50;

/// The median of forks of this process, in nanoseconds.
pub fn time(source: &mut Unopened, bytes: usize) -> Result<f64, Failure> {
    // A first request may be served on its own; the next ones fill a buffer.
    for _ in 0..4 {
        source.draw(black_box(&mut [0; 32]))?;
    }
    let mut out = vec![0; bytes];
    let mut fork_once = |_| {
        let clock = Instant::now();
        let forked = fork::fork(|| out.is_empty() || source.draw(black_box(&mut out)).is_ok());
        forked?.wait().map(|()| clock.elapsed().as_nanos() as f64)
    };
    let times = (0..WARM_UP + FORKS).map(&mut fork_once);
    let times: Result<Vec<f64>, _> = times.collect();
    let times = times.map_err(|error| Failure::Runtime(format!("fork: {}", cause(&error))))?;
    Ok(Spread::of(times[WARM_UP..].to_vec()).median)
}
