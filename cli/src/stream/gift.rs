//! Gives memory to a pipe instead of copying it: the *gifts* of vmsplice(2), SPLICE_F_GIFT.
//!
//! vmsplice(2) puts references to our pages into the pipe. A reader may pass them on (splice, tee)
//! without our knowledge, so a given page must never change again: a [`Gift`] is new memory, and
//! giving it consumes it and unmaps it. All unsafe code of `squall stream` is here.
//!
//! Given memory cannot be wiped here. The kernel frees it after it was read, like the pipe's own
//! buffers after a write.
//!
//! Measured on an EPYC 9004 (2 vCPUs, Linux 6.18) with a reader whose buffer has 1 MiB: given huge
//! pages are a third faster than write(2), small pages a third slower. So only huge pages are given.

#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::NonNull;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::pipe::{IoSliceRaw, SpliceFlags, vmsplice};

use super::send::send_all;

/// The size of a huge page on x86-64, and on ARMv8 with small pages of 4 KiB.
const HUGE: usize = 2 << 20;

/// Whether `pipe` takes pages, and this system has huge ones.
pub fn is_possible(pipe: BorrowedFd<'_>) -> bool {
    let policy = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let has_huge_pages = policy.is_ok_and(|policy| !policy.contains("[never]"));
    // SAFETY: no pages are passed; this only tests whether the call exists and is allowed.
    has_huge_pages && unsafe { vmsplice(pipe, &[], SpliceFlags::empty()) }.is_ok()
}

/// New memory, aligned to huge pages, that nobody else has a reference to.
pub struct Gift {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping has this one owner, and any thread may use or unmap it.
unsafe impl Send for Gift {}

impl Gift {
    /// Maps `len` bytes, a multiple of 2 MiB.
    pub fn new(len: usize) -> io::Result<Gift> {
        debug_assert!(len > 0 && len.is_multiple_of(HUGE));
        let mapped_len = len + HUGE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let mapped = unsafe {
            mmap_anonymous(
                core::ptr::null_mut(),
                mapped_len,
                protection,
                MapFlags::PRIVATE,
            )
        }?;
        let mapped: NonNull<u8> = NonNull::new(mapped.cast()).ok_or(Errno::NOMEM)?;
        let before = mapped.align_offset(HUGE);
        // SAFETY: `before` is less than HUGE, by which the mapping is longer than `len`.
        let start = unsafe { mapped.add(before) };
        unmap(mapped, before);
        // SAFETY: `start + len` is at most the mapping's end.
        unmap(unsafe { start.add(len) }, HUGE - before);
        // Without huge pages this is only slower, so the result is ignored.
        // SAFETY: advice on memory of ours; it does not change what the memory holds.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::LinuxHugepage) };
        Ok(Gift { start, len })
    }

    /// The memory; it is zero at first.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` readable and writable bytes are mapped from `start`, owned by `self`.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Gives the first `len` bytes to `pipe`, and waits for room. `sent` is increased by the number of
    /// bytes that the pipe took, even on failure.
    pub fn give(self, len: usize, pipe: BorrowedFd<'_>, sent: &mut u64) -> io::Result<()> {
        // SAFETY: the memory is mapped and was initialised by the kernel.
        let bytes = unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) };
        send_all(pipe, &bytes[..len], sent, |rest| {
            let parts = [IoSliceRaw::from_slice(rest)];
            // SAFETY: the pages were filled before, and this consumes their only owner: nothing
            // writes to them again.
            unsafe { vmsplice(pipe, &parts, SpliceFlags::GIFT) }
        })
    }
}

impl Drop for Gift {
    fn drop(&mut self) {
        unmap(self.start, self.len);
    }
}

/// Unmaps `len` bytes of ours; pages in a pipe stay alive there.
fn unmap(start: NonNull<u8>, len: usize) {
    if len == 0 {
        return;
    }
    let start: *mut c_void = start.as_ptr().cast();
    // SAFETY: part of a mapping made in `Gift::new`, and no reference to it is left.
    let unmapped = unsafe { munmap(start, len) };
    debug_assert!(unmapped.is_ok());
}
