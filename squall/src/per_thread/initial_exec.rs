//! Variables at a fixed distance from the thread's pointer: the *initial exec* model (U. Drepper, "ELF
//! Handling For Thread-Local Storage", section 4.3).

macro_rules! per_thread {
    ($(#[$attribute:meta])* static $name:ident: $type:ty) => {
        $crate::per_thread::at_fixed_distance! {
            $(#[$attribute])*
            static $name: $type, concat!("squall_", env!("CARGO_PKG_VERSION"), "_", stringify!($name))
        }
    };
}
pub(crate) use per_thread;

/// The variable as a type of its own, so that its address is computed where it is used. The symbol
/// contains the version, which keeps two releases in one program apart.
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
pub(crate) use at_fixed_distance;
