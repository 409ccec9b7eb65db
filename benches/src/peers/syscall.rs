//! The kernel's getrandom(2), by a raw system call.

/// Fills `out` by as many calls as it takes.
pub fn fill(out: &mut [u8]) {
    let mut filled = 0;
    while filled < out.len() {
        let rest = &mut out[filled..];
        // SAFETY: `rest` is writable for its length.
        let got = unsafe { libc::syscall(libc::SYS_getrandom, rest.as_mut_ptr(), rest.len(), 0) };
        filled += usize::try_from(got).expect("getrandom(2) serves this process");
    }
}
