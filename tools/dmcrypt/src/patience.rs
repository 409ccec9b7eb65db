//! Waiting for what passes: others, as udev is, look at every new disk and have it open meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// How long that may last.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long until the next attempt.
const PAUSE: Duration = Duration::from_millis(1);

/// What `attempt` comes to when it no longer fails by one of `passing`, or after a while.
pub fn patiently(attempt: impl Fn() -> Result<(), Errno>, passing: &[Errno]) -> Result<(), Errno> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(error) if passing.contains(&error) && started.elapsed() < PATIENCE => {
                thread::sleep(PAUSE);
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_waited_for() {
        let left = std::cell::Cell::new(3);
        let attempt = || match left.replace(left.get() - 1) {
            0 => Ok(()),
            _ => Err(Errno::BUSY),
        };
        assert_eq!(patiently(attempt, &[Errno::BUSY]), Ok(()));
        assert_eq!(
            patiently(|| Err(Errno::PERM), &[Errno::BUSY]),
            Err(Errno::PERM)
        );
    }
}
