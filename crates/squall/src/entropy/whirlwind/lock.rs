//! A lock that nobody waits for without end.
//!
//! Its holder may be preempted by the one that waits, or be gone for good: a thread that ended in
//! a signal handler, or that a fork did not take along. So after some tries the lock is taken
//! away. Who had it sees that before they store what they made, and makes it again; only between
//! that look and the store are they not seen, and may store over what came after.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering};

use super::shard;

/// Looks at a lock before it is taken away: between ten microseconds and fifty, by CPU; a
/// compression holds it for a quarter of one.
const TRIES: u32 = 1000;

const FREE: u32 = 0;

/// Zeros are a free lock; else it is its holder's number.
#[derive(Default)]
pub(super) struct Lock(AtomicU32);

impl Lock {
    /// The lock, if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Held<'_>> {
        let holder = this_thread();
        self.0
            .compare_exchange(FREE, holder, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then(|| Held { lock: self, holder })
    }

    /// The lock, from whoever has it if need be.
    pub fn lock(&self) -> Held<'_> {
        for _ in 0..TRIES {
            if let Some(held) = self.try_lock() {
                return held;
            }
            spin_loop();
        }
        let holder = this_thread();
        self.0.store(holder, Ordering::Relaxed);
        Held { lock: self, holder }
    }

    /// Frees the lock of a holder that is gone.
    pub fn reset(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}

/// This thread's number as a holder: never that of a free lock.
#[inline]
fn this_thread() -> u32 {
    shard::of_this_thread() as u32 | 1 << 31
}

/// A lock that is held until this is dropped, or taken away.
pub(super) struct Held<'a> {
    lock: &'a Lock,
    holder: u32,
}

impl Held<'_> {
    /// Whether nobody has taken it away.
    pub fn is_ours(&self) -> bool {
        self.lock.0.load(Ordering::Relaxed) == self.holder
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        let _ =
            self.lock
                .0
                .compare_exchange(self.holder, FREE, Ordering::Release, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let lock = Lock::default();
        let held = lock.try_lock().expect("it is free");
        assert!(lock.try_lock().is_none());
        assert!(held.is_ours());
        drop(held);
        assert!(lock.try_lock().is_some());
    }

    #[test]
    fn a_holder_that_is_gone_is_not_waited_for() {
        let lock = Lock::default();
        std::thread::scope(|scope| {
            scope.spawn(|| core::mem::forget(lock.try_lock()));
        });
        assert!(lock.try_lock().is_none(), "nobody gives it back");
        let held = lock.lock();
        assert!(held.is_ours());
        drop(held);
        assert!(lock.try_lock().is_some(), "it works again");
    }

    #[test]
    fn who_lost_it_knows() {
        let lock = Lock::default();
        let slow = lock.try_lock().expect("it is free");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let held = lock.lock();
                assert!(held.is_ours() && !slow.is_ours());
            });
        });
        assert!(!slow.is_ours());
        drop(slow);
        assert!(lock.try_lock().is_some());
    }
}
