//! A pause, counted in requests, after a source has refused one.

use core::sync::atomic::{AtomicU32, Ordering};

/// How many more requests to a source are skipped, because it refused one.
pub(crate) struct Backoff(AtomicU32);

impl Backoff {
    pub const REQUESTS: u32 = 1024;

    pub const fn new() -> Backoff {
        Backoff(AtomicU32::new(0))
    }

    pub fn start(&self) {
        self.0.store(Self::REQUESTS, Ordering::Relaxed);
    }

    pub fn is_active(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Counts a request that was not made. Threads that count at the same time may count one request
    /// instead of two, which makes the pause a little longer.
    #[inline]
    pub fn count_skipped(&self) {
        let left = self.0.load(Ordering::Relaxed);
        if left > 0 {
            self.0.store(left - 1, Ordering::Relaxed);
        }
    }
}
