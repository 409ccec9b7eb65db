//! Types and numbers of OpenSSL's interface for providers: as much of it as a generator needs.
//!
//! They hold for all of OpenSSL 3 and later, which promise that providers need not be built anew.
//! Source: provider-base(7), provider-rand(7), OSSL_PARAM(3), and the numbers of
//! openssl/core_dispatch.h, openssl/core.h, openssl/err.h and openssl/proverr.h.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use std::alloc::{Layout, alloc};

/// An entry of a table of functions, which ends with the number 0 (OSSL_DISPATCH).
#[repr(C)]
pub struct Dispatch {
    /// Which function.
    pub id: c_int,
    /// The function; its type follows from the number.
    pub function: *const c_void,
}

impl Dispatch {
    /// The end of a table.
    pub const END: Dispatch = Dispatch::new(0, ptr::null());

    /// `function` as the one with this number.
    pub const fn new(id: c_int, function: *const c_void) -> Dispatch {
        Dispatch { id, function }
    }
}

/// A named value, in or out; an array of them ends with one without a key (OSSL_PARAM).
#[repr(C)]
pub struct Param {
    /// Its name, null at the end of an array.
    pub key: *const c_char,
    /// What is behind `data`.
    pub data_type: c_uint,
    /// Where the value is or goes; null if only its size is asked for.
    pub data: *mut c_void,
    /// Bytes there.
    pub data_size: usize,
    /// Bytes of the value.
    pub return_size: usize,
}

impl Param {
    /// The end of an array.
    pub const END: Param = Param {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: UNMODIFIED,
    };

    /// A value of `size` bytes that can be asked for.
    pub const fn offered(key: &'static CStr, data_type: c_uint, size: usize) -> Param {
        Param {
            key: key.as_ptr(),
            data_type,
            data_size: size,
            ..Param::END
        }
    }
}

/// An implementation of an algorithm; a table of them ends with one without names
/// (OSSL_ALGORITHM).
#[repr(C)]
pub struct Algorithm {
    /// Names, separated by colons.
    pub names: *const c_char,
    /// What it can be asked for by.
    pub properties: *const c_char,
    /// Its functions.
    pub functions: *const Dispatch,
    /// For people.
    pub description: *const c_char,
}

impl Algorithm {
    /// The end of a table.
    pub const END: Algorithm = Algorithm {
        names: ptr::null(),
        properties: ptr::null(),
        functions: ptr::null(),
        description: ptr::null(),
    };
}

/// A table that OpenSSL reads, in any thread.
#[repr(transparent)]
pub struct Table<T, const N: usize>(pub [T; N]);

// SAFETY: what is in a table points to constants and functions, and never changes.
unsafe impl<T, const N: usize> Sync for Table<T, N> {}

impl<T, const N: usize> Table<T, N> {
    /// Where it begins.
    pub const fn begin(&self) -> *const T {
        self.0.as_ptr()
    }
}

/// `return_size` of what nobody has answered.
pub const UNMODIFIED: usize = usize::MAX;

/// Kinds of values.
pub mod data_type {
    use core::ffi::c_uint;

    /// A number with a sign, of any length.
    pub const INTEGER: c_uint = 1;
    /// A number without one.
    pub const UNSIGNED_INTEGER: c_uint = 2;
    /// A pointer to a string.
    pub const UTF8_PTR: c_uint = 6;
}

/// Functions that OpenSSL gives to a provider.
pub mod core_function {
    use core::ffi::c_int;

    pub const GET_PARAMS: c_int = 2;
    pub const NEW_ERROR: c_int = 5;
    pub const SET_ERROR_DEBUG: c_int = 6;
    pub const VSET_ERROR: c_int = 7;
    pub const SECURE_MALLOC: c_int = 26;
    pub const SECURE_CLEAR_FREE: c_int = 29;
}

/// Functions that a provider gives to OpenSSL.
pub mod provider_function {
    use core::ffi::c_int;

    pub const TEARDOWN: c_int = 1024;
    pub const GETTABLE_PARAMS: c_int = 1025;
    pub const GET_PARAMS: c_int = 1026;
    pub const QUERY_OPERATION: c_int = 1027;
    /// Asked by later versions than 3.0, which let a provider serve RAND_bytes itself.
    pub const RANDOM_BYTES: c_int = 1032;
}

/// Operations: what algorithms are for.
pub mod operation {
    use core::ffi::c_int;

    pub const RAND: c_int = 5;
}

/// Functions of a generator.
pub mod rand_function {
    use core::ffi::c_int;

    pub const NEWCTX: c_int = 1;
    pub const FREECTX: c_int = 2;
    pub const INSTANTIATE: c_int = 3;
    pub const UNINSTANTIATE: c_int = 4;
    pub const GENERATE: c_int = 5;
    pub const RESEED: c_int = 6;
    pub const NONCE: c_int = 7;
    pub const ENABLE_LOCKING: c_int = 8;
    pub const GETTABLE_CTX_PARAMS: c_int = 12;
    pub const GET_CTX_PARAMS: c_int = 15;
    pub const VERIFY_ZEROIZATION: c_int = 17;
    pub const GET_SEED: c_int = 18;
    pub const CLEAR_SEED: c_int = 19;
}

/// Errors: the library in the upper bits, the reason in the lower 23 (ERR_PACK).
pub mod reason {
    /// Those of OpenSSL's own providers, so that programs which know them know these.
    const PROVIDERS: u32 = 57 << 23;
    /// Reasons that all libraries have.
    const COMMON: u32 = 2 << 18;

    pub const UNSUPPORTED: u32 = PROVIDERS | COMMON | 268;
    pub const INVALID_SEED_LENGTH: u32 = PROVIDERS | 154;
    pub const INSUFFICIENT_STRENGTH: u32 = PROVIDERS | 181;
    pub const ALREADY_INSTANTIATED: u32 = PROVIDERS | 185;
    pub const RETRIEVING_ENTROPY: u32 = PROVIDERS | 189;
    pub const NOT_INSTANTIATED: u32 = PROVIDERS | 193;
}

/// A value on the heap, to be freed as a `Box`; null if there is no memory, which a `Box` would end
/// the process for.
pub fn boxed<T>(value: T) -> *mut T {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout has a size.
    let place = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    if !place.is_null() {
        // SAFETY: memory for such a value, aligned for it.
        unsafe { place.write(value) };
    }
    place
}
