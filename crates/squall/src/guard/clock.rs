//! How old is this state? Asked only where the kernel's generation cannot be seen.

/// Seconds since boot, counted through suspension too, or since some other fixed moment.
pub(crate) fn seconds() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) };
    now.tv_sec as u64
}
