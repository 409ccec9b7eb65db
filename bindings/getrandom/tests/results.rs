//! Results and `errno` are the kernel's.

use std::collections::HashSet;
use std::ffi::c_void;
use std::io::{Read, Write};
use std::ptr;

use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    results_are_those_of_the_kernel,
    success_keeps_errno,
    long_requests_are_filled,
    children_and_parents_differ,
];

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

fn long_requests_are_filled() {
    let mut memory = vec![0; 40 << 20];
    let length = memory.len();
    let filled = answer(OURS, memory.as_mut_ptr(), length, 0);
    assert_eq!(filled, (length as isize, 0));
    let (blocks, _) = memory.as_chunks::<16>();
    let last: HashSet<_> = blocks[blocks.len() - 1000..].iter().collect();
    assert!(last.len() == 1000 && !last.contains(&[0; 16]));
}

fn children_and_parents_differ() {
    let draw = || {
        let mut bytes = [0; 16];
        assert_eq!(answer(OURS, bytes.as_mut_ptr(), 16, 0), (16, 0));
        bytes
    };
    let mut seen = HashSet::from([draw()]);
    for child in 1..=100 {
        let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
        // SAFETY: the child only draws, writes and ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let is_written = writer.write_all(&draw()).is_ok();
            // SAFETY: ends without destructors.
            unsafe { libc::_exit((!is_written).into()) }
        }
        drop(writer);
        let mut bytes = [0; 16];
        reader.read_exact(&mut bytes).expect("the child's bytes");
        seen.extend([bytes, draw()]);
        // SAFETY: the process is a child of this one, and its status is not asked for.
        assert_eq!(unsafe { libc::waitpid(pid, ptr::null_mut(), 0) }, pid);
        assert_eq!(seen.len(), 1 + 2 * child);
    }
}
