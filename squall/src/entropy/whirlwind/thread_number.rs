//! A number for each thread, which spreads threads over shards and names the holder of a lock.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::per_thread::per_thread;

per_thread! {
    /// 0 until the thread gets its number.
    static NUMBER: AtomicUsize
}

/// This thread's number: threads that start one after the other get different ones.
#[inline]
pub(super) fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NUMBER.with(|number| {
        while number.load(Ordering::Relaxed) == 0 {
            number.store(NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        number.load(Ordering::Relaxed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_their_number() {
        let numbers = || [thread_number(), thread_number()];
        let [mine, theirs] = [numbers(), std::thread::spawn(numbers).join().unwrap()];
        assert!(mine[0] == mine[1] && theirs[0] == theirs[1]);
        assert_ne!(mine[0], theirs[0]);
    }
}
