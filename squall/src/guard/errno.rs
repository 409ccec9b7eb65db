//! Preserves `errno` for the program: a C program may look at it after a draw in a signal handler
//! or within `malloc`.

/// Runs `work`, then restores `errno`.
#[inline(always)]
pub fn keep<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the place of this thread's `errno`, for as long as the thread lives.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { place.read() };
    let result = work();
    // SAFETY: as above.
    unsafe { place.write(before) };
    result
}
