//! The part of OpenSSL's provider interface that a generator needs: types and numbers.
//!
//! They hold for OpenSSL 3 and all later versions, which promise that providers need not be rebuilt.
//! Source: provider-base(7), provider-rand(7), OSSL_PARAM(3), and the numbers of
//! openssl/core_dispatch.h, openssl/core.h, openssl/err.h and openssl/proverr.h.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use std::alloc::{Layout, alloc};

/// An entry of a function table, which ends with an entry of number 0 (OSSL_DISPATCH).
#[repr(C)]
pub struct Dispatch {
    /// The number of the function.
    pub id: c_int,
    /// The function; its number determines its type.
    pub function: *const c_void,
}

impl Dispatch {
    /// The end of a table.
    pub const END: Dispatch = Dispatch::new(0, ptr::null());

    /// An entry for `function` with the number `id`.
    pub const fn new(id: c_int, function: *const c_void) -> Dispatch {
        Dispatch { id, function }
    }
}

/// A named value that is passed in or out; an array of them ends with one without a key (OSSL_PARAM).
#[repr(C)]
pub struct Param {
    /// The name; null at the end of an array.
    pub key: *const c_char,
    /// The type of the value: see [`data_type`].
    pub data_type: c_uint,
    /// Where the value is or goes; null to ask for its size.
    pub data: *mut c_void,
    /// The size of the memory at `data` in bytes.
    pub data_size: usize,
    /// The size of the value in bytes.
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

    /// A value of `size` bytes that OpenSSL may ask for.
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
    /// The names, separated by colons.
    pub names: *const c_char,
    /// The properties by which OpenSSL selects it.
    pub properties: *const c_char,
    /// The function table.
    pub functions: *const Dispatch,
    /// A description for people.
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

/// A table that OpenSSL may read in any thread.
#[repr(transparent)]
pub struct Table<T, const N: usize>(pub [T; N]);

// SAFETY: a table only points to constants and functions, and never changes.
unsafe impl<T, const N: usize> Sync for Table<T, N> {}

impl<T, const N: usize> Table<T, N> {
    /// The address of the first entry.
    pub const fn begin(&self) -> *const T {
        self.0.as_ptr()
    }
}

/// The `return_size` of a parameter that was not answered.
pub const UNMODIFIED: usize = usize::MAX;

/// Types of values.
pub mod data_type {
    use core::ffi::c_uint;

    /// A signed number of any size.
    pub const INTEGER: c_uint = 1;
    /// An unsigned number of any size.
    pub const UNSIGNED_INTEGER: c_uint = 2;
    /// A pointer to a string.
    pub const UTF8_PTR: c_uint = 6;
}

/// Numbers of the functions that OpenSSL gives to a provider.
pub mod core_function {
    use core::ffi::c_int;

    pub const GET_PARAMS: c_int = 2;
    pub const NEW_ERROR: c_int = 5;
    pub const SET_ERROR_DEBUG: c_int = 6;
    pub const VSET_ERROR: c_int = 7;
    pub const SECURE_MALLOC: c_int = 26;
    pub const SECURE_CLEAR_FREE: c_int = 29;
}

/// Numbers of the functions that a provider gives to OpenSSL.
pub mod provider_function {
    use core::ffi::c_int;

    pub const TEARDOWN: c_int = 1024;
    pub const GETTABLE_PARAMS: c_int = 1025;
    pub const GET_PARAMS: c_int = 1026;
    pub const QUERY_OPERATION: c_int = 1027;
    /// Asked for by versions later than 3.0, which let a provider serve RAND_bytes itself.
    pub const RANDOM_BYTES: c_int = 1032;
}

/// Operations: the purposes of algorithms.
pub mod operation {
    use core::ffi::c_int;

    pub const RAND: c_int = 5;
}

/// Numbers of a generator's functions.
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

/// Error codes: the library in the upper bits, the reason in the lower 23 (ERR_PACK).
pub mod reason {
    /// The library of OpenSSL's own providers, whose errors programs may know already.
    const PROVIDERS: u32 = 57 << 23;
    /// The flag of reasons that all libraries share.
    const COMMON: u32 = 2 << 18;

    pub const UNSUPPORTED: u32 = PROVIDERS | COMMON | 268;
    pub const INVALID_SEED_LENGTH: u32 = PROVIDERS | 154;
    pub const INSUFFICIENT_STRENGTH: u32 = PROVIDERS | 181;
    pub const ALREADY_INSTANTIATED: u32 = PROVIDERS | 185;
    pub const RETRIEVING_ENTROPY: u32 = PROVIDERS | 189;
}

/// Allocates a value that is freed as a `Box`. Returns null if there is no memory, where a `Box` would
/// abort the process.
pub fn boxed<T>(value: T) -> *mut T {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout has a size.
    let place = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    if !place.is_null() {
        // SAFETY: the memory has the size and alignment of the value.
        unsafe { place.write(value) };
    }
    place
}
