//! The file of counters as a counting process uses it: mapped, and shared with other processes.

use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::io::Write;

use super::{Contents, Count, Interface, LEN, MAGIC, THREAD_GROUPS};

/// The mapped file; null if nothing is counted.
static CONTENTS: AtomicPtr<Contents> = AtomicPtr::new(ptr::null_mut());

/// Counts a request of `bytes` bytes that squall served.
#[inline]
pub fn served(interface: Interface, bytes: usize) {
    if let Some(count) = count_of(interface) {
        count.requests.fetch_add(1, Ordering::Relaxed);
        count.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Counts a request that was left to the kernel.
#[inline]
pub fn forwarded(interface: Interface) {
    if let Some(count) = count_of(interface) {
        count.forwarded.fetch_add(1, Ordering::Relaxed);
    }
}

#[inline]
fn count_of(interface: Interface) -> Option<&'static Count> {
    let contents = CONTENTS.load(Ordering::Relaxed);
    // SAFETY: null, or mapped for ever and made of atomics.
    let contents = unsafe { contents.as_ref() }?;
    // Stacks lie apart, usually by megabytes, and often enough by at least 64 KiB.
    let stack = (&raw const contents).addr() as u64 >> 16;
    let thread_group = (stack.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % THREAD_GROUPS;
    Some(&contents.thread_groups[thread_group].interfaces[interface as usize])
}

/// Starts to count if the environment names a file of counters, or one that does not exist yet; once per process. Any
/// other file is left alone.
///
/// Interfaces call this when they are loaded, before the process gives up rights or descriptors.
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

/// Maps the file at `path`, which is made if there is none; `None` if it is not a file of counters.
fn map(path: &CStr) -> Option<&'static Contents> {
    let mut fd = open(path, 0);
    // SAFETY: `errno` belongs to this thread.
    if fd < 0 && unsafe { *libc::__errno_location() } == libc::ENOENT {
        make(path);
        fd = open(path, 0);
    }
    if fd < 0 {
        return None;
    }
    let mapped = map_descriptor(fd);
    close(fd);
    let contents = mapped?;
    (contents.magic.load(Ordering::Relaxed) == MAGIC).then_some(contents)
}

/// Opens a file, which only its owner may use if it is new. Raw calls here, because an interface replaces `open` and `close`.
fn open(path: &CStr, flags: i32) -> i32 {
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the path ends with a null byte.
    unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            0o600,
        ) as i32
    }
}

fn close(fd: i32) {
    // SAFETY: the descriptor is ours, and not used afterwards.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Makes a file of counters, all zero, unless there is a file already. It gets its name when it is whole, because
/// another process may start at this moment. Allocates nothing.
fn make(path: &CStr) {
    let mut name = [0u8; libc::PATH_MAX as usize];
    let mut rest = &mut name[..];
    let written = rest.write_all(path.to_bytes());
    if written
        .and_then(|()| write!(rest, ".{}", std::process::id()))
        .is_err()
    {
        return;
    }
    let Ok(new) = CStr::from_bytes_until_nul(&name) else {
        return;
    };
    let fd = open(new, libc::O_CREAT | libc::O_EXCL);
    if fd < 0 {
        return;
    }
    // SAFETY: the paths end with null bytes, and the magic number is readable for its length.
    unsafe {
        let magic = &MAGIC;
        if libc::ftruncate(fd, LEN as i64) == 0
            && libc::pwrite(fd, ptr::from_ref(magic).cast(), size_of_val(&MAGIC), 0)
                == size_of_val(&MAGIC) as isize
        {
            libc::link(new.as_ptr(), path.as_ptr());
        }
        libc::unlink(new.as_ptr());
    }
    close(fd);
}

fn map_descriptor(fd: i32) -> Option<&'static Contents> {
    let stat = squall::internal::stat(fd)?;
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
