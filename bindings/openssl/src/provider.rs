//! The provider's functions: its name, its algorithms, and a direct way for RAND_bytes.
//!
//! Source: provider-base(7).

use core::ffi::{CStr, c_int, c_uint, c_void};

use crate::abi::{Algorithm, Dispatch, Param, Table, data_type, operation, provider_function};
use crate::host::Provider;
use crate::params::{self, Answer};
use crate::{generator, rand};

/// The provider's function table.
pub static FUNCTIONS: Table<Dispatch, 6> = Table([
    Dispatch::new(provider_function::TEARDOWN, teardown as *const c_void),
    Dispatch::new(
        provider_function::GETTABLE_PARAMS,
        gettable as *const c_void,
    ),
    Dispatch::new(provider_function::GET_PARAMS, get as *const c_void),
    Dispatch::new(provider_function::QUERY_OPERATION, query as *const c_void),
    Dispatch::new(
        provider_function::RANDOM_BYTES,
        random_bytes as *const c_void,
    ),
    Dispatch::END,
]);

static GETTABLE: Table<Param, 5> = Table([
    Param::offered(c"name", data_type::UTF8_PTR, 0),
    Param::offered(c"version", data_type::UTF8_PTR, 0),
    Param::offered(c"buildinfo", data_type::UTF8_PTR, 0),
    Param::offered(c"status", data_type::UNSIGNED_INTEGER, size_of::<c_uint>()),
    Param::END,
]);

/// The value of the provider's parameter `key`.
fn param(key: &[u8]) -> Option<Answer> {
    Some(match key {
        b"name" => Answer::Text(c"squall"),
        b"version" => Answer::Text(VERSION),
        b"buildinfo" => Answer::Text(BUILD),
        b"status" => Answer::Number(1),
        _ => return None,
    })
}

const VERSION: &CStr = c_text(concat!(env!("CARGO_PKG_VERSION"), "\0"));
const BUILD: &CStr = c_text(concat!("squall ", env!("CARGO_PKG_VERSION"), "\0"));

const fn c_text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text must contain one null byte, at its end"),
    }
}

unsafe extern "C" fn teardown(provider: *mut Provider) {
    // SAFETY: it came from `OSSL_provider_init`, and OpenSSL no longer uses it.
    drop(unsafe { Box::from_raw(provider) });
}

extern "C" fn gettable(_provider: *const Provider) -> *const Param {
    GETTABLE.begin()
}

unsafe extern "C" fn get(_provider: *const Provider, params: *mut Param) -> c_int {
    // SAFETY: OpenSSL passes parameters as in OSSL_PARAM(3).
    unsafe { params::answer(params, param) }.into()
}

unsafe extern "C" fn query(
    _provider: *const Provider,
    operation_id: c_int,
    no_cache: *mut c_int,
) -> *const Algorithm {
    // SAFETY: OpenSSL gives a place for a number.
    unsafe { no_cache.write(0) };
    match operation_id {
        operation::RAND => rand::ALGORITHMS.begin(),
        _ => core::ptr::null(),
    }
}

/// Serves RAND_bytes and RAND_priv_bytes without a generator, if `random_provider` names this
/// provider.
unsafe extern "C" fn random_bytes(
    provider: *const Provider,
    _which: c_int,
    out: *mut u8,
    len: usize,
    strength: c_uint,
) -> c_int {
    // SAFETY: OpenSSL gives a buffer of this length.
    let out = unsafe { rand::bytes(out, len) };
    match generator::fill_and_count(out, strength, false) {
        Ok(()) => 1,
        Err(reason) => {
            // SAFETY: it came from `OSSL_provider_init`, and was not torn down yet.
            unsafe { &*provider }
                .host
                .raise(reason, c"random_bytes", None);
            0
        }
    }
}
