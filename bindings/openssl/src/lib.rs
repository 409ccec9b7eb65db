//! A provider that gives OpenSSL 3 its random bytes: a generator `SQUALL`, instead of OpenSSL's
//! own or as the source of their seeds.
//!
//! - `provider`: the functions of a provider.
//! - `rand`: the functions of a generator.
//! - `generator`: the generator's state and rules; the only module that does not deal with C.
//! - `params`: answers to parameters.
//! - `host`: the functions that OpenSSL gives to a provider.
//! - `abi`: types and numbers of OpenSSL's headers.
//!
//! There is no lock, threads share nothing, and no secret leaves squall except the seeds for other
//! generators. README.md explains the use.

mod abi;
mod generator;
mod host;
mod params;
mod provider;
mod rand;

use core::ffi::{CStr, c_int, c_void};

use abi::{Dispatch, reason};
use host::{Host, Provider};

/// The symbol by which `squall openssl-conf` recognises the library.
#[used]
#[unsafe(no_mangle)]
static SQUALL_PROVIDER: u8 = 1;

/// Loads the provider into OpenSSL: the one function that the library exports.
///
/// Returns 0, with an error in OpenSSL's queue, if OpenSSL is older than 3.0 or hides its version.
///
/// # Safety
/// Called as provider-base(7) says: `functions` is the table of the core's functions, ending with
/// the number 0, which take `handle` and live as long as the provider is loaded; the other two are
/// places for the results.
///
/// # Source
/// provider(7), provider-base(7).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const c_void,
    functions: *const Dispatch,
    out: *mut *const Dispatch,
    provider: *mut *mut Provider,
) -> c_int {
    // SAFETY: the caller's promise.
    let host = unsafe { Host::new(handle, functions) };
    if !host.version().is_some_and(is_supported) {
        let text = c"squall can be loaded into OpenSSL 3.0.0 and later";
        host.raise(reason::UNSUPPORTED, c"OSSL_provider_init", Some(text));
        return 0;
    }
    squall_binding_base::counters::attach();
    squall::hazmat::prepare_threads();
    let ours = abi::boxed(Provider { host });
    if ours.is_null() {
        return 0;
    }
    // SAFETY: places for results, by the caller's promise.
    unsafe {
        out.write(provider::FUNCTIONS.begin());
        provider.write(ours);
    }
    1
}

/// Whether `version`, such as `3.0.22` or `4.0.0-beta1`, has this interface. Text of another form is
/// not supported.
fn is_supported(version: &CStr) -> bool {
    let Ok(version) = version.to_str() else {
        return false;
    };
    let mut numbers = version.split(['.', '-', '+']).map(str::parse::<u32>);
    matches!(
        (numbers.next(), numbers.next(), numbers.next()),
        (Some(Ok(major)), Some(Ok(_)), Some(Ok(_))) if major >= 3
    )
}
