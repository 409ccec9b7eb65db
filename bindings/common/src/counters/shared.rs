//! The file of counters as a counting process uses it: mapped, and shared with other processes.

use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::layout::{Contents, Count, Door, LEN, MAGIC, THREAD_GROUPS};

/// The mapped file; null if nothing is counted.
static CONTENTS: AtomicPtr<Contents> = AtomicPtr::new(ptr::null_mut());

/// Counts a request of `bytes` bytes that squall served.
#[inline]
pub fn served(door: Door, bytes: usize) {
    if let Some(count) = count_of(door) {
        count.requests.fetch_add(1, Ordering::Relaxed);
        count.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Counts a request that was left to the kernel.
#[inline]
pub fn forwarded(door: Door) {
    if let Some(count) = count_of(door) {
        count.forwarded.fetch_add(1, Ordering::Relaxed);
    }
}

#[inline]
fn count_of(door: Door) -> Option<&'static Count> {
    let contents = CONTENTS.load(Ordering::Relaxed);
    // SAFETY: null, or mapped for ever and made of atomics.
    let contents = unsafe { contents.as_ref() }?;
    // Stacks lie apart, usually by megabytes, and often enough by at least 64 KiB.
    let stack = (&raw const contents).addr() as u64 >> 16;
    let thread_group = (stack.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % THREAD_GROUPS;
    Some(&contents.thread_groups[thread_group].doors[door as usize])
}

/// Starts to count if the environment names a file of counters; once per process. Any other file is
/// left alone.
///
/// Doors call this when they are loaded, before the process gives up rights or descriptors.
pub fn attach() {
    if !CONTENTS.load(Ordering::Relaxed).is_null() {
        return;
    }
    let Some(contents) = path().and_then(map) else {
        return;
    };
    let first = CONTENTS
        .compare_exchange(
            ptr::null_mut(),
            ptr::from_ref(contents).cast_mut(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        )
        .is_ok();
    if first {
        contents.loads.fetch_add(1, Ordering::Relaxed);
    }
}

/// The variable's value; `None` if the program has more rights than its caller.
fn path() -> Option<&'static CStr> {
    // `VARIABLE` as a C string.
    const NAME: &CStr = c"SQUALL_COUNTERS";
    // SAFETY: getauxval has no preconditions.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: the name ends with a null byte. Nobody should change the environment while libraries are
    // loaded; getenv(3) warns of that.
    let value = unsafe { libc::getenv(NAME.as_ptr()) };
    // SAFETY: null, or a value that ends with a null byte and is in the environment.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Maps the file at `path`; `None` if it is not a file of counters.
fn map(path: &CStr) -> Option<&'static Contents> {
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the path ends with a null byte. Raw calls, because a door replaces `open` and `close`.
    let fd =
        unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) } as i32;
    if fd < 0 {
        return None;
    }
    let mapped = map_descriptor(fd);
    // SAFETY: the descriptor is ours, and not used afterwards.
    unsafe { libc::syscall(libc::SYS_close, fd) };
    let contents = mapped?;
    (contents.magic.load(Ordering::Relaxed) == MAGIC).then_some(contents)
}

fn map_descriptor(fd: i32) -> Option<&'static Contents> {
    let stat = squall::hazmat::stat(fd)?;
    let is_file = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    if !is_file || stat.st_size != LEN as i64 {
        return None;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing else.
    let address = unsafe { libc::mmap(ptr::null_mut(), LEN, protection, libc::MAP_SHARED, fd, 0) };
    if address == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: LEN bytes are mapped for ever; any bytes are valid numbers.
    Some(unsafe { &*address.cast::<Contents>() })
}
