//! Which requests of getrandom(2) squall may serve in the kernel's place: those whose buffer a program can
//! have. All others are left to the kernel, which knows how to refuse them.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::{self, NonNull};

use squall::internal::keep_errno;

/// All flags of getrandom(2): 1, 2 and 4.
pub const FLAGS: c_uint = libc::GRND_NONBLOCK | libc::GRND_RANDOM | libc::GRND_INSECURE;

/// The longest request that squall serves, in bytes: the most that the kernel reads at once
/// (`MAX_RW_COUNT`, 2^31 minus a page; read(2)).
pub const MAX_REQUEST: usize = 0x7fff_f000;

/// No program has memory below this address.
pub const MIN_ADDRESS: usize = 4096;

/// No program has memory from this address on, even with page tables of five levels.
const END_ADDRESS: usize = 1 << 56;

/// The buffer of a request as a slice; `None` if it is too long, or if no program can have memory at
/// the address. The kernel answers such addresses with `EFAULT`. The memory may be uninitialised.
///
/// # Safety
/// If the program has memory at the address, `length` bytes are writable there, and nobody else uses
/// them during the call.
#[inline(always)]
pub unsafe fn slice_of_request<'a>(address: *mut c_void, length: usize) -> Option<&'a mut [u8]> {
    let address = match length {
        0 if address.addr() < END_ADDRESS => NonNull::<u8>::dangling().as_ptr(),
        1..=MAX_REQUEST if is_plausible(address.addr()) => address.cast(),
        _ => return None,
    };
    // SAFETY: the caller's promise, and the memory counts as initialised; an empty slice only needs an address.
    Some(unsafe { core::slice::from_raw_parts_mut(as_if_written(address), length) })
}

/// The same address. To the compiler, its memory may have been written to: a slice of integers must be initialised,
/// and with link-time optimisation the compiler may know that a caller in Rust has not done that.
#[inline(always)]
fn as_if_written(address: *mut u8) -> *mut u8 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: no instructions, which change nothing.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) address, options(nostack, preserves_flags));
    }
    address
}

/// Whether a program can have memory at an address.
#[inline(always)]
pub fn is_plausible(address: usize) -> bool {
    address.wrapping_sub(MIN_ADDRESS) < END_ADDRESS - MIN_ADDRESS
}

/// Whether the kernel would serve a request with these flags now, without waiting: the answer to a request of no
/// bytes, whose flags it checks as those of any other (`random.c` of Linux 5.6 and later). Keeps `errno`.
pub fn kernel_accepts(flags: c_uint) -> bool {
    // SAFETY: no bytes are requested. A raw call, which is no cancellation point.
    keep_errno(|| unsafe { squall::internal::getrandom(ptr::null_mut(), 0, flags) }).is_ok()
}

/// Draws twice, after which squall has made all its decisions for the process. Then no later draw opens a device,
/// perhaps in a sandbox. The kernel's generator must be ready. Without a source of randomness this does nothing.
///
/// Cancellation is disabled meanwhile, because squall does not expect it while it opens devices.
pub fn make_one_time_decisions() {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    /// The value is the same in glibc and musl.
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: `before` is writable.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut before) };
    for _ in 0..2 {
        let _ = squall::try_fill(&mut [0]);
    }
    // SAFETY: `before` is writable, and the state is one that the first call returned.
    unsafe { pthread_setcancelstate(before, &mut before) };
}

/// getrandom(2) by the kernel: the number of bytes, or -1 and `errno`.
///
/// # Safety
/// `buffer` is writable for `length` bytes, or an address that is nobody's.
pub unsafe fn getrandom_of_kernel(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    // SAFETY: the caller's promise.
    match unsafe { squall::internal::getrandom(buffer.cast(), length, flags) } {
        Ok(count) => count as isize,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Sets `errno`.
pub fn set_errno(error: i32) {
    // SAFETY: `errno` belongs to this thread.
    unsafe { libc::__errno_location().write(error) };
}
