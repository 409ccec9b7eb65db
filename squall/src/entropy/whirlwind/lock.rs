//! A lock that can be taken away, so that nobody waits for it forever.
//!
//! Its holder may be preempted by the waiting thread, or be gone for good: a thread that ended in a
//! signal handler, or one that a fork did not copy. So after some tries the waiting thread takes
//! the lock away. Before it stores its result, a holder [commits](Held::commit), which fails if it
//! has lost the lock. A waiting thread lets a committed holder run first; only if the holder does
//! not finish its few stores even then may they overwrite what was stored later.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering};

use super::thread_number::thread_number;

/// Tries before the lock is taken away: ten to fifty microseconds, depending on the CPU; a
/// compression holds it for a quarter of one.
const TRIES: u32 = 1000;

/// How often a waiting thread yields the CPU to a holder that has committed.
const YIELDS: u32 = 100;

const FREE: u32 = 0;

/// Set in a holder's number once it has committed.
const COMMITTED: u32 = 1 << 30;

/// The number of the holder; zero if the lock is free.
#[derive(Default)]
pub(super) struct Lock(AtomicU32);

impl Lock {
    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<LockGuard<'_>> {
        let holder = this_thread();
        self.exchange(FREE, holder)
            .then(|| LockGuard { lock: self, holder })
    }

    /// Takes the lock, from its holder if need be.
    pub fn lock(&self) -> LockGuard<'_> {
        for _ in 0..TRIES {
            if let Some(held) = self.try_lock() {
                return held;
            }
            spin_loop();
        }
        let holder = this_thread();
        for _ in 0..YIELDS {
            let found = self.0.load(Ordering::Relaxed);
            // This fails if the holder has committed meanwhile.
            if found & COMMITTED == 0 && self.exchange(found, holder) {
                return LockGuard { lock: self, holder };
            }
            std::thread::yield_now();
        }
        self.0.swap(holder, Ordering::AcqRel);
        LockGuard { lock: self, holder }
    }

    /// Frees the lock of a holder that is gone.
    pub fn reset(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    #[inline]
    fn exchange(&self, from: u32, to: u32) -> bool {
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// This thread's number as a holder, which is never that of a free lock.
#[inline]
fn this_thread() -> u32 {
    holder(thread_number())
}

#[inline]
fn holder(number: usize) -> u32 {
    (number as u32 & !COMMITTED) | 1 << 31
}

/// A lock that is held until this is dropped, or until another thread takes it away.
pub(super) struct LockGuard<'a> {
    lock: &'a Lock,
    holder: u32,
}

impl LockGuard<'_> {
    /// Announces that the holder is about to store its result; false if it has lost the lock.
    pub fn commit(&self) -> bool {
        self.lock.exchange(self.holder, self.holder | COMMITTED)
    }
}

impl Drop for LockGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let _ = self.lock.exchange(self.holder, FREE)
            || self.lock.exchange(self.holder | COMMITTED, FREE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_differs_from_a_free_lock_and_from_one_that_has_committed() {
        const TOP: u32 = 1 << 31;
        assert_eq!(holder(0), TOP);
        assert_eq!(holder(5), TOP | 5);
        assert_eq!(holder(COMMITTED as usize | 5), TOP | 5);
        assert_eq!(holder(TOP as usize | 5), TOP | 5);
        assert_ne!(COMMITTED & !TOP, 0);
        let other = std::thread::spawn(this_thread).join().unwrap();
        assert_ne!(other, this_thread());
        assert_eq!(this_thread(), this_thread());
    }

    #[test]
    fn one_holder_at_a_time() {
        let lock = Lock::default();
        let held = lock.try_lock().expect("it is free");
        assert!(lock.try_lock().is_none());
        assert!(held.commit());
        assert!(lock.try_lock().is_none(), "who commits keeps it");
        drop(held);
        assert!(lock.try_lock().is_some());
    }

    #[test]
    fn a_lock_is_taken_from_a_thread_that_has_ended() {
        let lock = Lock::default();
        std::thread::scope(|scope| {
            scope.spawn(|| core::mem::forget(lock.try_lock()));
        });
        assert!(lock.try_lock().is_none(), "nobody gives it back");
        let held = lock.lock();
        assert!(held.commit());
        drop(held);
        assert!(lock.try_lock().is_some(), "it works again");
    }

    #[test]
    fn a_holder_notices_that_it_lost_the_lock() {
        let lock = Lock::default();
        let slow = lock.try_lock().expect("it is free");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let held = lock.lock();
                assert!(!slow.commit() && held.commit());
            });
        });
        assert!(!slow.commit());
        drop(slow);
        assert!(lock.try_lock().is_some());
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_holder_is_waited_for_and_one_that_has_committed_longer() {
        let [neither, committed] = [false, true].map(|commits| {
            let lock = Lock::default();
            let held = lock.try_lock().expect("it is free");
            assert!(!commits || held.commit());
            crate::steps::step_through(|| drop(lock.lock()), &|_| ())
        });
        assert!(neither > TRIES as usize, "{neither} steps");
        assert!(committed > neither + YIELDS as usize, "{committed} steps");
    }
}
