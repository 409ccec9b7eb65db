//! arc4random(3), arc4random_buf(3), arc4random_uniform(3). They never fail, and wait until the
//! kernel's RNG is ready.
//!
//! Numbers are made from the bytes of [`squall::try_fill`], because C programs make keys of them.

use core::ffi::c_void;

use squall_binding_base::counters::{self, Interface};

use crate::{agreement, gate, getrandom, real, sandbox};

/// arc4random(3): a number below 2^32.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random() -> u32 {
    let (bytes, is_served) = draw_word();
    count(is_served, bytes.len());
    u32::from_ne_bytes(bytes)
}

/// arc4random_buf(3): fills `buffer`.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random_buf(buffer: *mut c_void, length: usize) {
    if length == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let is_served = fill(unsafe { core::slice::from_raw_parts_mut(buffer.cast(), length) });
    count(is_served, length);
}

/// arc4random_uniform(3): a number below `bound`, each equally likely; 0 if `bound` is 0 or 1. It is made from words
/// of 64 bits, with which the time that it takes hardly depends on the result.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random_uniform(bound: u32) -> u32 {
    let mut all_are_served = true;
    let Ok(number) = squall::internal::below_u64(bound.into(), || {
        let (bytes, is_served) = draw_word();
        all_are_served &= is_served;
        Ok::<_, core::convert::Infallible>(u64::from_ne_bytes(bytes))
    });
    count(all_are_served, size_of::<u32>());
    number as u32
}

/// Counts a request of `length` bytes, which squall served or left to the kernel.
#[inline(always)]
fn count(is_served: bool, length: usize) {
    if is_served {
        counters::served(Interface::Arc4random, length)
    } else {
        counters::forwarded(Interface::Arc4random)
    }
}

/// The bytes of a word, and whether squall made them.
#[inline(always)]
fn draw_word<const N: usize>() -> ([u8; N], bool) {
    let mut bytes = [0; N];
    let is_served = fill(&mut bytes);
    (bytes, is_served)
}

/// Fills `out`, or ends the process; returns whether squall filled it.
#[inline(always)]
fn fill(out: &mut [u8]) -> bool {
    (gate::may_serve(0) && gate::fill(out)) || fill_slowly(out)
}

#[cold]
#[inline(never)]
fn fill_slowly(out: &mut [u8]) -> bool {
    let is_left_to_kernel = agreement::is_kernel_only() || sandbox::is_entered();
    // Waits until the kernel's RNG is ready; tries /dev/urandom if getrandom is refused.
    if !is_left_to_kernel && gate::fill(out) {
        return true;
    }
    // The C library's function has other ways, or ends the process with its own message.
    if let Some(arc4random_buf) = real::ARC4RANDOM_BUF.get_unless_kernel_only() {
        // SAFETY: `out` is writable for its length.
        unsafe { arc4random_buf(out.as_mut_ptr().cast(), out.len()) };
        return false;
    }
    // SAFETY: `out` is writable for its length.
    if unsafe { getrandom::fill_from_kernel(out.as_mut_ptr().cast(), out.len()) } == 0 {
        return false;
    }
    const MESSAGE: &str = "squall: arc4random: there is no source of randomness\n";
    // SAFETY: MESSAGE is readable for its length; abort ends the process.
    unsafe {
        libc::syscall(
            libc::SYS_write,
            libc::STDERR_FILENO,
            MESSAGE.as_ptr(),
            MESSAGE.len(),
        );
        libc::abort()
    }
}
