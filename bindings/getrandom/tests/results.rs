//! Results and `errno` are the kernel's.

use std::ffi::c_void;
use std::ptr;

use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![results_are_those_of_the_kernel, success_keeps_errno,];

type GetRandom = unsafe fn(*mut c_void, usize, u32) -> isize;

const OURS: GetRandom = |buffer, length, flags| {
    // SAFETY: the caller's promise.
    unsafe { libc::getrandom(buffer, length, flags) }
};

const KERNELS: GetRandom = |buffer, length, flags| {
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) as isize }
};

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The result of a request, and `errno` if it failed.
fn answer(getrandom: GetRandom, buffer: *mut u8, length: usize, flags: u32) -> (isize, i32) {
    // SAFETY: the callers below pass memory that is theirs, or addresses that are nobody's.
    let count = unsafe { getrandom(buffer.cast(), length, flags) };
    (count, if count < 0 { errno() } else { 0 })
}

fn results_are_those_of_the_kernel() {
    let mut memory = [0; 300];
    let nobodys = [
        ptr::null_mut(),
        ptr::without_provenance_mut(8),
        ptr::without_provenance_mut(!0 << 8),
    ];
    for flags in 0..=17 {
        for length in [0, 1, 256, 300] {
            for buffer in [nobodys[0], nobodys[1], nobodys[2], memory.as_mut_ptr()] {
                let expected = answer(KERNELS, buffer, length, flags);
                let found = answer(OURS, buffer, length, flags);
                assert_eq!(
                    found, expected,
                    "{length} bytes at {buffer:?}, flags {flags}"
                );
            }
        }
    }
    assert_eq!(answer(OURS, memory.as_mut_ptr(), 1, 8), (-1, libc::EINVAL));
    assert_eq!(answer(OURS, nobodys[0], 1, 0), (-1, libc::EFAULT));
}

fn success_keeps_errno() {
    // SAFETY: a request with unknown flags writes nothing.
    assert_eq!(unsafe { OURS(ptr::null_mut(), 0, u32::MAX) }, -1);
    assert_eq!(errno(), libc::EINVAL);
    let mut memory = [0; 1000];
    for length in [0, 1, 1000] {
        let (count, _) = answer(OURS, memory.as_mut_ptr(), length, 0);
        assert_eq!((count, errno()), (length as isize, libc::EINVAL));
    }
}
