//! What the kernel agreed to: for which flags of getrandom(2) squall serves requests in its place.
//!
//! [`crate::gate`] asks the kernel and notes its answer here. Whoever notices that squall must not serve
//! requests any more withdraws the agreement: until the kernel is asked again, or for good.

use core::sync::atomic::{AtomicU16, Ordering};

/// A bit for each combination of flags that the kernel agreed to; or [`CLOSED`].
pub(crate) static AGREED: AtomicU16 = AtomicU16::new(0);

/// The final value of `AGREED` once two tasks share thread-local variables ([`crate::clone`]). From
/// then on the kernel serves all requests, also those of forked children.
pub(crate) const CLOSED: u16 = 1 << 8;

/// Whether the kernel serves all requests.
pub(crate) fn is_closed() -> bool {
    AGREED.load(Ordering::SeqCst) == CLOSED
}

/// Makes every request ask the kernel again.
pub(crate) fn forget() {
    update(|_| 0);
}

/// Changes `AGREED`; false if the kernel serves all requests for good.
pub(crate) fn update(agreed: impl Fn(u16) -> u16) -> bool {
    let change = |before| (before != CLOSED).then(|| agreed(before));
    AGREED
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, change)
        .is_ok()
}
