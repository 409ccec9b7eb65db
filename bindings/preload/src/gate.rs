//! Decides whether squall may serve a request of getrandom(2): only if the kernel would; and serves it.
//!
//! This module asks the kernel with a request of no bytes, which the kernel refuses like any other
//! (`random.c` of Linux 5.6 and later checks the flags before the length). If the kernel accepts it, the
//! process remembers that, with a bit for each combination of flags, because the kernel's RNG stays ready
//! once it is. A refusal is not remembered: the request itself then goes to the kernel, where it waits,
//! is interrupted, or fails as it would without this library. Once the program has entered a sandbox, the kernel serves
//! all requests ([`crate::sandbox`]).

use core::ffi::c_uint;
use core::sync::atomic::Ordering;

use squall_binding_base::counters::{self, Interface};
use squall_binding_base::request::{self, FLAGS};

use crate::agreement::{ACCEPTED_FLAGS, clear_accepted, is_kernel_only, update};
use crate::sandbox;

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
