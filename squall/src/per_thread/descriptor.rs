//! Variables that are reached by a *TLS descriptor* (A. Oliva and G. Araujo, "Speeding Up Thread-Local Storage
//! Access in Dynamic Libraries", 2006): the address of a function that returns the variable's distance from
//! the thread's pointer. The loader chooses the function.

macro_rules! per_thread {
    ($(#[$attribute:meta])* static $name:ident: $type:ty) => {
        $crate::per_thread::by_descriptor! {
            $(#[$attribute])*
            static $name: $type, concat!("squall_", env!("CARGO_PKG_VERSION"), "_", stringify!($name))
        }
    };
}
pub(crate) use per_thread;

/// The variable as a type of its own, so that its address is computed where it is used. The symbol
/// contains the version, which keeps two releases in one program apart.
macro_rules! by_descriptor {
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
                // SAFETY: computes an address: the distance that the descriptor's function returns, and
                // the thread's pointer, which is the first word at FS (System V ABI for x86-64,
                // thread-local storage). Before 2.40, glibc's function did not keep vector registers.
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    core::arch::asm!(
                        concat!("lea rax, [rip + ", $symbol, "@TLSDESC]"),
                        concat!("call qword ptr [rax + ", $symbol, "@TLSCALL]"),
                        "add rax, qword ptr fs:[0]",
                        out("rax") place,
                        clobber_abi("C"),
                        options(pure, nomem),
                    );
                }
                // SAFETY: the same, where the thread's pointer is a register. Where the function allocates it may lose
                // what a call may: the predicates and upper halves of SVE's registers (ELF for the Arm 64-bit
                // Architecture, "Thread Local Storage").
                #[cfg(target_arch = "aarch64")]
                unsafe {
                    core::arch::asm!(
                        concat!("adrp x0, :tlsdesc:", $symbol),
                        concat!("ldr x1, [x0, :tlsdesc_lo12:", $symbol, "]"),
                        concat!("add x0, x0, :tlsdesc_lo12:", $symbol),
                        concat!(".tlsdesccall ", $symbol),
                        "blr x1",
                        "mrs x1, tpidr_el0",
                        "add x0, x0, x1",
                        out("x0") place,
                        clobber_abi("C"),
                        options(pure, nomem),
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
pub(crate) use by_descriptor;
