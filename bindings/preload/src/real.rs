//! The functions that this library replaces: the next definitions of their names, in the C library or
//! in another preloaded library.
//!
//! This library's constructor looks them up once. Before that, and for missing functions, callers
//! make the system call themselves. They do not always do so, because `read`, `open` and others are
//! cancellation points, and because another library may replace them too.
//!
//! All functions are called as `C-unwind`: the C library ends a cancelled thread by unwinding it, through the
//! callers in this library, none of which has anything to drop at that point.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{iovec, mmsghdr, msghdr, off_t, timespec};

use crate::agreement;

/// A function of type `F` in another library.
#[repr(transparent)]
pub(crate) struct NextFunction<F> {
    address: AtomicPtr<c_void>,
    function: PhantomData<F>,
}

impl<F: Copy> NextFunction<F> {
    /// A function that was not looked up yet.
    const fn new() -> NextFunction<F> {
        NextFunction {
            address: AtomicPtr::new(ptr::null_mut()),
            function: PhantomData,
        }
    }

    /// The function; `None` if it was not looked up yet or is missing.
    #[inline]
    pub(crate) fn get(&self) -> Option<F> {
        const { assert!(size_of::<Option<F>>() == size_of::<*mut c_void>()) };
        let address = self.address.load(Ordering::Relaxed);
        // SAFETY: null, which is `None`, or the address of a function whose name and type are in the
        // list below; libraries that were loaded at the program's start are never unloaded.
        unsafe { core::mem::transmute_copy::<*mut c_void, Option<F>>(&address) }
    }

    /// Like [`Self::get`], but `None` once the kernel serves all requests: the C library's functions
    /// of these names keep per-thread state too (glibc 2.41).
    pub(crate) fn get_unless_kernel_only(&self) -> Option<F> {
        self.get().filter(|_| !agreement::is_kernel_only())
    }

    fn look_up(&self, name: &CStr) {
        // SAFETY: the name ends with a null byte.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        self.address.store(address, Ordering::Relaxed);
    }
}

/// Calls the next function; or, if it was not looked up yet or is missing, makes the system call with these arguments.
macro_rules! next_or_call {
    ($next:ident($($argument:expr),*), $($call:tt)*) => {
        match $crate::real::$next.get() {
            Some(function) => function($($argument),*),
            None => libc::syscall($($call)*) as _,
        }
    };
}
pub(crate) use next_or_call;

/// Declares functions: the name here, the symbol, the arguments and the result.
macro_rules! functions {
    ($($function:ident $name:literal ($($argument:tt)*) -> $result:ty;)*) => {
        $(
            pub(crate) static $function:
                NextFunction<unsafe extern "C-unwind" fn($($argument)*) -> $result> = NextFunction::new();
        )*

        fn look_up_all() {
            $($function.look_up($name);)*
        }
    };
}

functions! {
    GETRANDOM c"getrandom" (*mut c_void, usize, c_uint) -> isize;
    GETENTROPY c"getentropy" (*mut c_void, usize) -> c_int;
    ARC4RANDOM_BUF c"arc4random_buf" (*mut c_void, usize) -> ();

    READ c"read" (c_int, *mut c_void, usize) -> isize;
    READ_CHK c"__read_chk" (c_int, *mut c_void, usize, usize) -> isize;
    PREAD c"pread" (c_int, *mut c_void, usize, off_t) -> isize;
    PREAD64 c"pread64" (c_int, *mut c_void, usize, off_t) -> isize;
    PREAD_CHK c"__pread_chk" (c_int, *mut c_void, usize, off_t, usize) -> isize;
    PREAD64_CHK c"__pread64_chk" (c_int, *mut c_void, usize, off_t, usize) -> isize;
    READV c"readv" (c_int, *const iovec, c_int) -> isize;
    PREADV c"preadv" (c_int, *const iovec, c_int, off_t) -> isize;
    PREADV64 c"preadv64" (c_int, *const iovec, c_int, off_t) -> isize;
    PREADV2 c"preadv2" (c_int, *const iovec, c_int, off_t, c_int) -> isize;
    PREADV64V2 c"preadv64v2" (c_int, *const iovec, c_int, off_t, c_int) -> isize;

    OPEN c"open" (*const c_char, c_int, ...) -> c_int;
    OPEN64 c"open64" (*const c_char, c_int, ...) -> c_int;
    OPEN_2 c"__open_2" (*const c_char, c_int) -> c_int;
    OPEN64_2 c"__open64_2" (*const c_char, c_int) -> c_int;
    OPENAT c"openat" (c_int, *const c_char, c_int, ...) -> c_int;
    OPENAT64 c"openat64" (c_int, *const c_char, c_int, ...) -> c_int;
    OPENAT_2 c"__openat_2" (c_int, *const c_char, c_int) -> c_int;
    OPENAT64_2 c"__openat64_2" (c_int, *const c_char, c_int) -> c_int;
    DUP c"dup" (c_int) -> c_int;
    DUP2 c"dup2" (c_int, c_int) -> c_int;
    DUP3 c"dup3" (c_int, c_int, c_int) -> c_int;
    FCNTL c"fcntl" (c_int, c_int, ...) -> c_int;
    FCNTL64 c"fcntl64" (c_int, c_int, ...) -> c_int;
    PIDFD_GETFD c"pidfd_getfd" (c_int, c_int, c_uint) -> c_int;
    CLOSE c"close" (c_int) -> c_int;
    CLOSE_RANGE c"close_range" (c_uint, c_uint, c_int) -> c_int;
    CLOSEFROM c"closefrom" (c_int) -> ();
    RECVMSG c"recvmsg" (c_int, *mut msghdr, c_int) -> isize;
    RECVMMSG c"recvmmsg" (c_int, *mut mmsghdr, c_uint, c_int, *mut timespec) -> c_int;
    PRCTL c"prctl" (c_int, ...) -> c_int;
    SYSCALL c"syscall" (c_long, ...) -> c_long;
    CLONE c"clone" (*mut c_void, *mut c_void, c_int, *mut c_void, ...) -> c_int;
}

/// Run by the loader after the C library's own constructor.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = {
    extern "C" fn construct() {
        look_up_all();
        // SAFETY: clears the error of a failed lookup; its result is not used.
        unsafe { libc::dlerror() };
        squall_binding_base::counters::attach();
        squall::hazmat::prepare_threads();
    }
    construct
};
