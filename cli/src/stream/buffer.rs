//! The memory in which a chunk of output is made, and how it gets to the output.
//!
//! A kept buffer is written, reused, and wiped in the end. A given buffer is new memory that a pipe
//! takes over: the *gifts* of vmsplice(2), SPLICE_F_GIFT, which puts references to our pages into the pipe. A reader may
//! pass them on (splice, tee) without our knowledge, so a given page must never change again: a [`Gift`] is new memory, and
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
use std::os::fd::BorrowedFd;
use std::{fs, io};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::pipe::{IoSliceRaw, SpliceFlags, vmsplice};
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use zeroize::Zeroizing;

/// Memory for one chunk of output, and how much of it is used.
pub struct Buffer {
    pub memory: Memory,
    pub len: usize,
}

pub enum Memory {
    /// Memory that stays ours.
    Kept(Zeroizing<Vec<u8>>),
    /// Memory that a pipe will take over.
    Given(Gift),
}

impl Buffer {
    /// The first `len` bytes, to be filled; `len` becomes the buffer's length.
    pub fn prepare(&mut self, len: usize) -> &mut [u8] {
        self.len = len;
        match &mut self.memory {
            Memory::Kept(bytes) => &mut bytes[..len],
            Memory::Given(gift) => &mut gift.bytes_mut()[..len],
        }
    }
}

pub fn no_memory(error: &io::Error) -> Failure {
    let cause = cause(error);
    Failure::Runtime(format!(
        "memory: {cause}: raise the limit or use fewer --threads"
    ))
}

/// The kind and size of new buffers.
#[derive(Clone, Copy)]
pub struct BufferSupply {
    pub len: usize,
    pub uses_gifts: bool,
}

impl BufferSupply {
    pub fn get(self) -> io::Result<Buffer> {
        let memory = if self.uses_gifts {
            Memory::Given(Gift::new(self.len)?)
        } else {
            Memory::Kept(zeros(self.len)?)
        };
        Ok(Buffer { memory, len: 0 })
    }
}

/// `len` zeros, wiped when dropped; fails instead of aborting if there is no memory.
pub fn zeros(len: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Errno::NOMEM)?;
    bytes.resize(len, 0);
    Ok(Zeroizing::new(bytes))
}

/// The size of a huge page on x86-64, and on ARMv8 with small pages of 4 KiB.
const HUGE: usize = 2 << 20;

/// Whether `pipe` takes pages, and this system has huge ones.
pub fn takes_gifts(pipe: BorrowedFd<'_>) -> bool {
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
    fn bytes_mut(&mut self) -> &mut [u8] {
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

/// Passes `bytes` to `send` until all are taken, and waits for room. `sent` counts the taken bytes,
/// even on failure.
pub fn send_all(
    fd: BorrowedFd<'_>,
    mut bytes: &[u8],
    sent: &mut u64,
    send: impl Fn(&[u8]) -> rustix::io::Result<usize>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(taken) => {
                *sent += taken as u64;
                bytes = &bytes[taken..];
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for_room(fd)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits for room in an output that somebody has made non-blocking.
fn wait_for_room(fd: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::event::poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
