//! Whether the kernel would serve a request of getrandom(2), so that squall may.
//!
//! The kernel is asked with a request of no bytes, which it refuses as any other (`random.c` of
//! Linux 5.6 and later looks at the flags before the length). That it agrees is remembered for the
//! process, a bit for each combination of flags, because its RNG stays ready once it is. Anything
//! else is not remembered: the request itself is then made to the kernel, which waits, is
//! interrupted, or fails as it would without this library. In a sandbox that the program has entered,
//! all requests are the kernel's ([`crate::sandbox`]).

use core::ffi::{c_int, c_uint};
use core::ptr;
use core::sync::atomic::{AtomicU16, Ordering};

use squall::hazmat::keep_errno;

use crate::{draw, sandbox};

/// All flags that there are: 1, 2 and 4.
const FLAGS: c_uint = libc::GRND_NONBLOCK | libc::GRND_RANDOM | libc::GRND_INSECURE;

/// Combinations of flags that the kernel agreed to, a bit each, by their number; or [`CLOSED`].
pub(crate) static AGREED: AtomicU16 = AtomicU16::new(0);

/// What `AGREED` is for good once two tasks are to share a thread's variables ([`crate::clone`]): the
/// kernel serves all requests from then on, those of forked children too.
pub(crate) const CLOSED: u16 = 1 << 8;

/// Whether squall may serve requests with these flags. Never waits, and leaves `errno` as it was.
#[inline(always)]
pub(crate) fn is_open(flags: c_uint) -> bool {
    flags <= FLAGS && (AGREED.load(Ordering::Relaxed) & 1 << flags != 0 || ask(flags))
}

/// Whether all requests are the kernel's.
pub(crate) fn is_closed() -> bool {
    AGREED.load(Ordering::SeqCst) == CLOSED
}

/// Whether the kernel's RNG is ready, and gives bytes to this process.
pub(crate) fn is_ready() -> bool {
    is_open(libc::GRND_NONBLOCK)
}

#[cold]
fn ask(flags: c_uint) -> bool {
    if is_closed() || sandbox::is_entered() {
        return false;
    }
    let is_first = || AGREED.load(Ordering::Relaxed) == 0;
    // First of all whether the RNG is ready: squall would wait for it, whatever the flags.
    if is_first() && flags != libc::GRND_NONBLOCK && !is_ready() {
        return false;
    }
    // SAFETY: no bytes are asked for. A raw call, which is no cancellation point.
    let answer = keep_errno(|| unsafe { squall::hazmat::getrandom(ptr::null_mut(), 0, flags) });
    if answer.is_err() {
        return false;
    }
    if is_first() {
        decide();
    }
    let is_open = update(|before| before | 1 << flags);
    // One that was entered meanwhile: either this sees it, or `forget` comes after what was agreed.
    if sandbox::is_entered() {
        forget();
        return false;
    }
    is_open
}

/// Has every request ask anew.
pub(crate) fn forget() {
    update(|_| 0);
}

/// Changes what was agreed to; false if all requests are the kernel's for good.
fn update(agreed: impl Fn(u16) -> u16) -> bool {
    let change = |before| (before != CLOSED).then(|| agreed(before));
    AGREED
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, change)
        .is_ok()
}

/// Draws twice. That decides all that squall decides once a process, so that no later draw opens a
/// device, in a sandbox perhaps that nobody has seen. The kernel's RNG must be ready.
///
/// The thread cannot be cancelled meanwhile: squall does not expect it where it opens devices.
fn decide() {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    /// The same number in glibc and musl.
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: `before` is writable.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut before) };
    draw::fill(&mut [0]);
    draw::fill(&mut [0]);
    // SAFETY: as above; the state is one that was given.
    unsafe { pthread_setcancelstate(before, &mut before) };
}
