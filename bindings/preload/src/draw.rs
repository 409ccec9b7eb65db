//! A request's buffer, and its bytes from squall.

use core::ffi::c_void;
use core::ptr::NonNull;

use squall_bindings::counters::{self, Door};

/// Longest request that squall serves, in bytes: what the kernel reads at most at once
/// (`MAX_RW_COUNT`, 2^31 without a page; read(2)). It knows what becomes of longer ones.
pub(crate) const LONGEST: usize = 0x7fff_f000;

/// Addresses below are nobody's.
pub(crate) const LOWEST: usize = 4096;

/// Addresses from here on are the kernel's or none, with page tables of five levels too.
const HIGHEST: usize = 1 << 56;

/// The buffer of a request; `None` if it is too long, or its address can be nobody's, which the
/// kernel answers with `EFAULT`.
///
/// # Safety
/// Where the address is one of this program, `length` bytes are writable from there on, and nobody
/// else's during the call.
#[inline(always)]
pub(crate) unsafe fn place<'a>(address: *mut c_void, length: usize) -> Option<&'a mut [u8]> {
    let address = match length {
        0 if address.addr() < HIGHEST => NonNull::<u8>::dangling().as_ptr(),
        1..=LONGEST if is_plausible(address.addr()) => address.cast(),
        _ => return None,
    };
    // SAFETY: the caller's promise; an empty slice needs an address, and no more.
    Some(unsafe { core::slice::from_raw_parts_mut(address, length) })
}

/// Whether a program may have an address.
#[inline(always)]
pub(crate) fn is_plausible(address: usize) -> bool {
    address.wrapping_sub(LOWEST) < HIGHEST - LOWEST
}

/// Fills `out` from squall, and counts it; false if squall cannot, so that the kernel is to be
/// asked. Leaves `errno` as it was.
#[inline(always)]
pub(crate) fn serve(door: Door, out: &mut [u8]) -> bool {
    let is_served = fill(out);
    if is_served {
        counters::served(door, out.len());
    }
    is_served
}

/// As [`serve`], not counted.
#[inline(always)]
pub(crate) fn fill(out: &mut [u8]) -> bool {
    squall::try_fill(out).is_ok()
}

/// Sets `errno`.
pub(crate) fn set_errno(error: i32) {
    // SAFETY: this thread's own.
    unsafe { libc::__errno_location().write(error) };
}
