//! Decides whether squall may serve a request of getrandom(2): only if the kernel would.
//!
//! This module asks the kernel with a request of no bytes, which the kernel refuses like any other
//! (`random.c` of Linux 5.6 and later checks the flags before the length). If the kernel accepts it, the
//! process remembers that, with a bit for each combination of flags, because the kernel's RNG stays ready
//! once it is. A refusal is not remembered: the request itself then goes to the kernel, where it waits,
//! is interrupted, or fails as it would without this library. Once the program has entered a sandbox, the kernel serves
//! all requests ([`crate::sandbox`]).

use core::ffi::{c_int, c_uint};
use core::sync::atomic::Ordering;

use squall_bindings::request::{self, FLAGS};

use crate::agreement::{ACCEPTED_FLAGS, clear_accepted, is_kernel_only, update};
use crate::{draw, sandbox};

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
        make_one_time_decisions();
    }
    let accepted = update(|before| before | 1 << flags);
    // A sandbox may be entered meanwhile: either this check sees it, or `sandbox::enter` clears the flags.
    if sandbox::is_entered() {
        clear_accepted();
        return false;
    }
    accepted
}

/// Draws twice, so that squall makes all its one-time decisions for the process. Then no later draw opens
/// a device, perhaps in a sandbox that this library did not notice. The kernel's RNG must be ready.
///
/// Cancellation is disabled meanwhile, because squall does not expect it while it opens devices.
fn make_one_time_decisions() {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    /// The value is the same in glibc and musl.
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: `before` is writable.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut before) };
    draw::fill(&mut [0]);
    draw::fill(&mut [0]);
    // SAFETY: `before` is writable, and the state is one that the first call returned.
    unsafe { pthread_setcancelstate(before, &mut before) };
}
