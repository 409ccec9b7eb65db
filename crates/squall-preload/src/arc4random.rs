//! arc4random(3), arc4random_buf(3), arc4random_uniform(3). They never fail, and wait until the
//! kernel's RNG is ready.
//!
//! Numbers are made of [`squall::try_fill`]'s bytes, because C programs make keys of them.

use core::ffi::c_void;

use squall_doors::counters::{self, Door};
use squall_doors::uniform;

use crate::{draw, gate, getrandom, real};

/// arc4random(3): a number below 2^32.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random() -> u32 {
    let number = word();
    counters::served(Door::Arc4random, size_of::<u32>());
    number
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
    fill(unsafe { core::slice::from_raw_parts_mut(buffer.cast(), length) });
    counters::served(Door::Arc4random, length);
}

/// arc4random_uniform(3): a number below `bound`, each as likely as any other; 0 if `bound` is 0 or
/// 1.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random_uniform(bound: u32) -> u32 {
    let Ok(number) = uniform::below_u32(bound, || Ok::<_, core::convert::Infallible>(word()));
    counters::served(Door::Arc4random, size_of::<u32>());
    number
}

#[inline(always)]
fn word() -> u32 {
    let mut bytes = [0; size_of::<u32>()];
    fill(&mut bytes);
    u32::from_ne_bytes(bytes)
}

/// Fills `out`, or ends the process.
#[inline(always)]
fn fill(out: &mut [u8]) {
    if !(gate::is_open(0) && draw::fill(out)) {
        fill_slowly(out);
    }
}

#[cold]
#[inline(never)]
fn fill_slowly(out: &mut [u8]) {
    // Waits until the kernel's RNG is ready; tries /dev/urandom where getrandom is refused.
    if !gate::is_closed() && draw::fill(out) {
        return;
    }
    // The C library's own has other ways, or ends the process with its own message.
    if let Some(arc4random_buf) = real::ARC4RANDOM_BUF.get_while_open() {
        // SAFETY: `out` is writable for its length.
        return unsafe { arc4random_buf(out.as_mut_ptr().cast(), out.len()) };
    }
    // SAFETY: as above.
    if unsafe { getrandom::fill_from_kernel(out.as_mut_ptr().cast(), out.len()) } == 0 {
        return;
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
