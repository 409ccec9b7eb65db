//! For which flags of getrandom(2) the kernel has agreed that squall serves requests in its place.
//!
//! [`crate::gate`] asks the kernel and records the answer here. Code that notices that squall must no
//! longer serve requests withdraws the agreement: until the kernel is asked again, or for good.

use core::sync::atomic::{AtomicU16, Ordering};

/// A bit for each combination of flags that the kernel has accepted; or [`KERNEL_ONLY`].
pub(crate) static ACCEPTED_FLAGS: AtomicU16 = AtomicU16::new(0);

/// The final value of [`ACCEPTED_FLAGS`] once two tasks share thread-local variables
/// ([`crate::syscall`]). From then on the kernel serves all requests, also those of forked children.
pub(crate) const KERNEL_ONLY: u16 = 1 << 8;

/// Whether the kernel serves all requests.
pub(crate) fn is_kernel_only() -> bool {
    ACCEPTED_FLAGS.load(Ordering::SeqCst) == KERNEL_ONLY
}

/// Makes every request ask the kernel again.
pub(crate) fn clear_accepted() {
    update(|_| 0);
}

/// Changes [`ACCEPTED_FLAGS`]; false if the kernel serves all requests for good.
pub(crate) fn update(accepted: impl Fn(u16) -> u16) -> bool {
    let change = |before| (before != KERNEL_ONLY).then(|| accepted(before));
    ACCEPTED_FLAGS
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, change)
        .is_ok()
}
