//! Checks a request's buffer, and fills it from squall.

use core::ffi::c_void;
use core::ptr::NonNull;

use squall_bindings::counters::{self, Door};

/// The longest request that squall serves, in bytes: the most that the kernel reads at once
/// (`MAX_RW_COUNT`, 2^31 minus a page; read(2)). Longer requests are left to the kernel.
pub(crate) const MAX_REQUEST: usize = 0x7fff_f000;

/// No program has memory below this address.
pub(crate) const MIN_ADDRESS: usize = 4096;

/// No program has memory from this address on, even with page tables of five levels.
const END_ADDRESS: usize = 1 << 56;

/// The buffer of a request as a slice; `None` if it is too long, or if no program can have memory at
/// the address. The kernel answers such addresses with `EFAULT`.
///
/// # Safety
/// If the program has memory at the address, `length` bytes are writable there, and nobody else uses
/// them during the call.
#[inline(always)]
pub(crate) unsafe fn slice_of_request<'a>(
    address: *mut c_void,
    length: usize,
) -> Option<&'a mut [u8]> {
    let address = match length {
        0 if address.addr() < END_ADDRESS => NonNull::<u8>::dangling().as_ptr(),
        1..=MAX_REQUEST if is_plausible(address.addr()) => address.cast(),
        _ => return None,
    };
    // SAFETY: the caller's promise; an empty slice only needs an address.
    Some(unsafe { core::slice::from_raw_parts_mut(address, length) })
}

/// Whether a program can have memory at an address.
#[inline(always)]
pub(crate) fn is_plausible(address: usize) -> bool {
    address.wrapping_sub(MIN_ADDRESS) < END_ADDRESS - MIN_ADDRESS
}

/// Fills `out` from squall and counts the request. Returns false if squall cannot, and the kernel must
/// serve the request. Keeps `errno`.
#[inline(always)]
pub(crate) fn serve(door: Door, out: &mut [u8]) -> bool {
    let is_served = fill(out);
    if is_served {
        counters::served(door, out.len());
    }
    is_served
}

/// Like [`serve`], without counting.
#[inline(always)]
pub(crate) fn fill(out: &mut [u8]) -> bool {
    squall::try_fill(out).is_ok()
}

/// Sets `errno`.
pub(crate) fn set_errno(error: i32) {
    // SAFETY: `errno` belongs to this thread.
    unsafe { libc::__errno_location().write(error) };
}
