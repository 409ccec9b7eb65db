//! Fills a request's buffer from squall.

use squall_bindings::counters::{self, Interface};

/// Fills `out` from squall and counts the request. Returns false if squall cannot, and the kernel must
/// serve the request. Keeps `errno`.
#[inline(always)]
pub(crate) fn serve(interface: Interface, out: &mut [u8]) -> bool {
    let is_served = fill(out);
    if is_served {
        counters::served(interface, out.len());
    }
    is_served
}

/// Like [`serve`], without counting.
#[inline(always)]
pub(crate) fn fill(out: &mut [u8]) -> bool {
    squall::try_fill(out).is_ok()
}
