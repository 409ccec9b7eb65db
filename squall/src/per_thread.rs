//! Thread-local variables that are accessed without a call.
//!
//! They begin as zeros and are never dropped, so that a thread's first draw needs no allocation
//! and may happen in a signal handler, or within `malloc`. In a program `thread_local!` provides that.
//! In a shared library it does not: there the compiler reaches variables by `__tls_get_addr`, which
//! takes nanoseconds, and may itself allocate when a library has been loaded since. The feature `shared-library` reaches them at a fixed distance from the
//! thread's pointer instead (the *initial exec* model: U. Drepper, "ELF Handling For Thread-Local
//! Storage", section 4.3). Their 168 bytes, and some 72 of the standard library with them, are then
//! part of the space that the loader sets aside at the start of the program, or of the reserve that it
//! keeps for libraries that are loaded later (`glibc.rtld.optional_static_tls`, 512 bytes).

/// A type whose values may begin as zeros.
///
/// # Safety
/// All zeros are a valid value, and the type needs no drop.
pub(crate) unsafe trait ZeroAtStart {}

// SAFETY: zeros are the number 0, and numbers need no drop.
unsafe impl ZeroAtStart for core::sync::atomic::AtomicU64 {}
// SAFETY: as above.
unsafe impl ZeroAtStart for core::sync::atomic::AtomicUsize {}

/// Defines a thread-local variable that begins as zeros: `static NAME: Type`, with the `with` of
/// `thread_local!`.
macro_rules! per_thread {
    ($(#[$attribute:meta])* static $name:ident: $type:ty) => {
        #[cfg(not(all(
            feature = "shared-library",
            any(target_arch = "x86_64", target_arch = "aarch64"),
            not(miri)
        )))]
        thread_local! {
            $(#[$attribute])*
            static $name: $type = const { $crate::per_thread::zero() };
        }

        #[cfg(all(
            feature = "shared-library",
            any(target_arch = "x86_64", target_arch = "aarch64"),
            not(miri)
        ))]
        $crate::per_thread::at_fixed_distance! {
            $(#[$attribute])*
            static $name: $type, concat!("squall_", env!("CARGO_PKG_VERSION"), "_", stringify!($name))
        }
    };
}
pub(crate) use per_thread;

#[cfg(not(all(
    feature = "shared-library",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
pub(crate) const fn zero<T: ZeroAtStart>() -> T {
    // SAFETY: the trait's promise.
    unsafe { core::mem::MaybeUninit::zeroed().assume_init() }
}

/// The variable as a type of its own, so that its address is computed where it is used. The symbol
/// contains the version, which keeps two releases in one program apart.
#[cfg(all(
    feature = "shared-library",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
macro_rules! at_fixed_distance {
    ($(#[$attribute:meta])* static $name:ident: $type:ty, $symbol:expr) => {
        core::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ", \"awT\", @nobits"),
            ".balign {align}",
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ", @tls_object"),
            concat!(".size ", $symbol, ", {size}"),
            concat!($symbol, ":"),
            ".zero {size}",
            ".popsection",
            align = const align_of::<$type>(),
            size = const size_of::<$type>(),
        );

        $(#[$attribute])*
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        struct $name;

        impl $name {
            #[inline(always)]
            fn with<R>(self, f: impl FnOnce(&$type) -> R) -> R {
                const fn begins_as_zeros<T: $crate::per_thread::ZeroAtStart>() {}
                const { begins_as_zeros::<$type>() };
                let place: *const $type;
                // SAFETY: computes an address: the distance that the linker or the loader has put
                // in the table of offsets, and the thread's pointer, which is the first word at FS
                // (System V ABI for x86-64, thread-local storage).
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    core::arch::asm!(
                        concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "add {0}, qword ptr fs:[0]",
                        out(reg) place,
                        options(pure, nomem, nostack),
                    );
                }
                // SAFETY: the same, where the thread's pointer is a register (ELF for the Arm 64-bit
                // Architecture, "Thread Local Storage").
                #[cfg(target_arch = "aarch64")]
                unsafe {
                    core::arch::asm!(
                        concat!("adrp {0}, :gottprel:", $symbol),
                        concat!("ldr {0}, [{0}, :gottprel_lo12:", $symbol, "]"),
                        "mrs {1}, tpidr_el0",
                        "add {0}, {0}, {1}",
                        out(reg) place,
                        out(reg) _,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                // SAFETY: the space defined above has the type's size and alignment, begins as
                // zeros, which are a valid value, in each thread, and lives as long as it. Nobody
                // else's reference is unique.
                f(unsafe { &*place })
            }
        }
    };
}
#[cfg(all(
    feature = "shared-library",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
pub(crate) use at_fixed_distance;
