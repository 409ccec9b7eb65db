//! Limits how fast bytes are transferred.

use std::num::NonZeroU64;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest sleep between two checks for an interrupt.
const SLEEP: Duration = Duration::from_millis(50);

/// A limit on the rate of transfers, or none.
pub struct Pace {
    limit: Option<NonZeroU64>,
    /// When the next transfer may start.
    next: Instant,
}

impl Pace {
    /// A pace of at most `limit` bytes a second; `None` for no limit.
    pub fn new(limit: Option<NonZeroU64>) -> Pace {
        Pace {
            limit,
            next: Instant::now(),
        }
    }

    /// Waits until `bytes` may be transferred, or `should_stop`.
    pub fn wait(&mut self, bytes: usize, should_stop: impl Fn() -> bool) {
        let Some(limit) = self.limit else { return };
        while let Some(left) = self.next.checked_duration_since(Instant::now()) {
            if should_stop() || left.is_zero() {
                break;
            }
            sleep(left.min(SLEEP));
        }
        let takes = Duration::from_secs_f64(bytes as f64 / limit.get() as f64);
        self.next = self.next.max(Instant::now()) + takes;
    }
}
