//! How old is this state? Asked only where the kernel's generation cannot be seen.

use crate::failpoint::{self, Failpoint};

#[cfg(feature = "testing")]
static ADVANCE: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

/// Seconds since boot, counted through suspension too, or since some other fixed moment.
pub(crate) fn seconds() -> u64 {
    if failpoint::is_off(Failpoint::SeedAge) {
        return 1;
    }
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) };
    let seconds = now.tv_sec as u64;
    #[cfg(feature = "testing")]
    let seconds = seconds + ADVANCE.load(core::sync::atomic::Ordering::Relaxed);
    seconds
}

/// Lets time pass.
#[cfg(feature = "testing")]
pub fn advance(seconds: u64) {
    ADVANCE.fetch_add(seconds, core::sync::atomic::Ordering::Relaxed);
}
