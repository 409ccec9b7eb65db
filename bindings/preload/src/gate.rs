//! Decides whether squall may serve a request of getrandom(2): only if the kernel would; and serves it.
//!
//! This module asks the kernel with a request of no bytes, which the kernel refuses like any other
//! (`random.c` of Linux 5.6 and later checks the flags before the length). If the kernel accepts it, the
//! process remembers that, with a bit for each combination of flags, because the kernel's RNG stays ready
//! once it is. A refusal is not remembered: the request itself then goes to the kernel, where it waits,
//! is interrupted, or fails as it would without this library. Once the program has entered a sandbox, the kernel serves
//! all requests ([`crate::sandbox`]). Code that notices that squall must no longer serve requests withdraws the kernel's
//! agreement: until it is asked again, or for good.

use core::ffi::c_uint;
use core::sync::atomic::{AtomicU16, Ordering};

use squall_bindings::counters::{self, Interface};
use squall_bindings::request::{self, FLAGS};

use crate::sandbox;

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

/// Whether squall may serve requests with these flags. Never waits, and keeps `errno`.
#[inline(always)]
pub(crate) fn may_serve(flags: c_uint) -> bool {
    flags <= FLAGS
        && (ACCEPTED_FLAGS.load(Ordering::Relaxed) & 1 << flags != 0 || ask_kernel(flags))
}

/// Whether the kernel's RNG is ready and this process may use it.
pub(crate) fn is_ready() -> bool {
    may_serve(libc::GRND_NONBLOCK)
}

#[cold]
fn ask_kernel(flags: c_uint) -> bool {
    if is_kernel_only() || sandbox::is_entered() {
        return false;
    }
    let is_first_question = || ACCEPTED_FLAGS.load(Ordering::Relaxed) == 0;
    // Check first whether the RNG is ready: squall would wait for it, whatever the flags.
    if is_first_question() && flags != libc::GRND_NONBLOCK && !is_ready() {
        return false;
    }
    if !request::kernel_accepts(flags) {
        return false;
    }
    if is_first_question() {
        request::make_one_time_decisions();
    }
    let accepted = update(|before| before | 1 << flags);
    // A sandbox may be entered meanwhile: either this check sees it, or `sandbox::enter` clears the flags.
    if sandbox::is_entered() {
        clear_accepted();
        return false;
    }
    accepted
}

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
