//! Runs a function when this thread ends.
//!
//! A POSIX thread key runs its destructor later than the destructors of Rust's and C++'s thread
//! locals, so that those may still draw; and setting it neither locks nor, for the first 32 keys
//! of a process, allocates, so that a thread's first draw may happen in a signal handler.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

/// Runs `at_exit` when this thread ends; false if the system has no key left.
pub(crate) fn on_exit(at_exit: extern "C" fn(*mut c_void)) -> bool {
    let Some(key) = key(at_exit) else {
        return false;
    };
    // SAFETY: the key exists. The value only has to be other than null.
    unsafe { libc::pthread_setspecific(key, core::ptr::dangling::<u8>().cast()) == 0 }
}

/// Makes the process's key for `at_exit`, if there is none.
pub(crate) fn prepare(at_exit: extern "C" fn(*mut c_void)) {
    key(at_exit);
}

/// The process's key for `at_exit`, made by the first thread to ask.
fn key(at_exit: extern "C" fn(*mut c_void)) -> Option<libc::pthread_key_t> {
    /// The key plus one; 0 while there is none.
    static KEY: AtomicU64 = AtomicU64::new(0);
    let known = KEY.load(Ordering::Acquire);
    if known != 0 {
        return Some((known - 1) as libc::pthread_key_t);
    }
    let mut key = 0;
    // SAFETY: `key` is writable, and the destructor has the type the call wants.
    if unsafe { libc::pthread_key_create(&mut key, Some(at_exit)) } != 0 {
        return None;
    }
    Some(publish(&KEY, key))
}

/// Publishes `key`, which nobody else knows, in `place`; deletes it if another one is there already.
fn publish(place: &AtomicU64, key: libc::pthread_key_t) -> libc::pthread_key_t {
    let number = u64::from(key) + 1;
    match place.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => key,
        Err(first) => {
            // SAFETY: the key exists, by the caller, and nobody uses it.
            unsafe { libc::pthread_key_delete(key) };
            (first - 1) as libc::pthread_key_t
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_key() -> libc::pthread_key_t {
        let mut key = 0;
        // SAFETY: `key` is writable.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, None) }, 0);
        key
    }

    /// If two threads make the key at once, both use the first one's.
    #[test]
    fn a_second_thread_uses_the_firsts_key() {
        let place = AtomicU64::new(0);
        let (first, second) = (make_key(), make_key());
        assert_ne!(first, second);
        assert_eq!(publish(&place, first), first);
        assert_eq!(publish(&place, second), first);
        assert_eq!(publish(&place, make_key()), first);
        // SAFETY: the key exists.
        assert_eq!(unsafe { libc::pthread_key_delete(first) }, 0);
    }
}
