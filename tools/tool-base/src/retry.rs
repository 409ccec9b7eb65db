//! Retries an operation that fails while somebody else is busy.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// Repeats `attempt` for up to `limit`, as long as it fails with an error that `passes` by itself.
pub fn retry<T, E>(
    limit: Duration,
    passes: impl Fn(&E) -> bool,
    attempt: impl Fn() -> Result<T, E>,
) -> Result<T, E> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(error) if passes(&error) && started.elapsed() < limit => thread::sleep(PAUSE),
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_that_pass_are_tried_again() {
        let attempts = std::cell::Cell::new(0);
        let attempt = || {
            attempts.set(attempts.get() + 1);
            if attempts.get() == 4 {
                Ok(())
            } else {
                Err("busy")
            }
        };
        let limit = Duration::from_secs(600);
        assert_eq!(retry(limit, |_| true, attempt), Ok(()));
        assert_eq!(attempts.get(), 4);
        attempts.set(0);
        assert_eq!(retry(limit, |_| false, attempt), Err("busy"));
        assert_eq!(attempts.get(), 1);
        assert_eq!(retry(Duration::ZERO, |_| true, attempt), Err("busy"));
    }
}
