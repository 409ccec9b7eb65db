//! The generator `SQUALL`: its functions and parameters.
//!
//! It has no functions to lock it or to set parameters, and OpenSSL needs none: any thread may use it
//! at any time, and there is nothing to configure.
//!
//! Source: provider-rand(7), and its life cycle, life_cycle-rand(7).

use core::ffi::{CStr, c_int, c_uint, c_void};
use core::slice;

use crate::abi::{self, Algorithm, Dispatch, Param, Table, data_type, rand_function};
use crate::generator::{ErrorReason, Generator};
use crate::host::{Host, Provider};
use crate::params;

/// A generator, and the core that gets its errors.
struct Context {
    generator: Generator,
    host: Host,
}

impl Context {
    /// The value of `result`. An error is added to OpenSSL's queue.
    #[inline]
    fn value_or_report<T>(&self, function: &CStr, result: Result<T, ErrorReason>) -> Option<T> {
        result
            .inspect_err(|&reason| self.host.raise(reason, function, None))
            .ok()
    }
}

/// The provider's algorithms.
pub static ALGORITHMS: Table<Algorithm, 2> = Table([
    Algorithm {
        names: c"SQUALL".as_ptr(),
        properties: c"provider=squall".as_ptr(),
        functions: FUNCTIONS.begin(),
        description: c"squall: a generator in each thread, safe across forks and clones".as_ptr(),
    },
    Algorithm::END,
]);

static FUNCTIONS: Table<Dispatch, 14> = Table([
    Dispatch::new(rand_function::NEWCTX, new as *const c_void),
    Dispatch::new(rand_function::FREECTX, free as *const c_void),
    Dispatch::new(rand_function::INSTANTIATE, instantiate as *const c_void),
    Dispatch::new(rand_function::UNINSTANTIATE, uninstantiate as *const c_void),
    Dispatch::new(rand_function::GENERATE, generate as *const c_void),
    Dispatch::new(rand_function::RESEED, reseed as *const c_void),
    Dispatch::new(rand_function::NONCE, nonce as *const c_void),
    Dispatch::new(rand_function::ENABLE_LOCKING, succeed as *const c_void),
    Dispatch::new(
        rand_function::GETTABLE_CTX_PARAMS,
        gettable as *const c_void,
    ),
    Dispatch::new(rand_function::GET_CTX_PARAMS, get as *const c_void),
    Dispatch::new(
        rand_function::VERIFY_ZEROIZATION,
        verify_zeroization as *const c_void,
    ),
    Dispatch::new(rand_function::GET_SEED, get_seed as *const c_void),
    Dispatch::new(rand_function::CLEAR_SEED, clear_seed as *const c_void),
    Dispatch::END,
]);

/// Parameters of a generator.
pub static GETTABLE: Table<Param, 14> = Table([
    Param::offered(c"state", data_type::INTEGER, size_of::<c_int>()),
    unsigned(c"strength"),
    Param::offered(
        c"max_request",
        data_type::UNSIGNED_INTEGER,
        size_of::<usize>(),
    ),
    unsigned(c"reseed_counter"),
    time(c"reseed_time"),
    unsigned(c"reseed_requests"),
    time(c"reseed_time_interval"),
    unsigned(c"min_entropylen"),
    unsigned(c"max_entropylen"),
    unsigned(c"min_noncelen"),
    unsigned(c"max_noncelen"),
    unsigned(c"max_perslen"),
    unsigned(c"max_adinlen"),
    Param::END,
]);

const fn unsigned(key: &'static CStr) -> Param {
    Param::offered(key, data_type::UNSIGNED_INTEGER, size_of::<c_uint>())
}

const fn time(key: &'static CStr) -> Param {
    Param::offered(key, data_type::INTEGER, size_of::<libc::time_t>())
}

unsafe extern "C" fn new(
    provider: *const Provider,
    _parent: *mut c_void,
    _parent_functions: *const Dispatch,
) -> *mut Context {
    // SAFETY: OpenSSL got it from `OSSL_provider_init`, and it was not torn down yet.
    let host = unsafe { (*provider).host };
    abi::boxed(Context {
        generator: Generator::default(),
        host,
    })
}

unsafe extern "C" fn free(context: *mut Context) {
    if !context.is_null() {
        // SAFETY: it came from `new`, and OpenSSL no longer uses it.
        drop(unsafe { Box::from_raw(context) });
    }
}

/// Enables locking, which is not needed.
extern "C" fn succeed(_context: *const Context) -> c_int {
    1
}

/// Says that the state is erased unless the generator is instantiated, as OpenSSL's own do.
unsafe extern "C" fn verify_zeroization(context: *const Context) -> c_int {
    // SAFETY: OpenSSL passes what `new` returned.
    (!unsafe { &*context }.generator.is_ready()).into()
}

unsafe extern "C" fn instantiate(
    context: *const Context,
    strength: c_uint,
    _fresh: c_int,
    _personalization: *const u8,
    _personalization_len: usize,
    _params: *const Param,
) -> c_int {
    // SAFETY: OpenSSL passes what `new` returned.
    let context = unsafe { &*context };
    let done = context.generator.instantiate(strength);
    context.value_or_report(c"instantiate", done);
    // A generator that was ready reports an error and succeeds, as OpenSSL's own do.
    context.generator.is_ready().into()
}

unsafe extern "C" fn uninstantiate(context: *const Context) -> c_int {
    // SAFETY: OpenSSL passes what `new` returned.
    unsafe { &*context }.generator.uninstantiate();
    1
}

unsafe extern "C" fn generate(
    context: *const Context,
    out: *mut u8,
    len: usize,
    strength: c_uint,
    fresh: c_int,
    _additional: *const u8,
    _additional_len: usize,
) -> c_int {
    // SAFETY: OpenSSL passes what `new` returned.
    let context = unsafe { &*context };
    // SAFETY: OpenSSL gives a buffer of this length.
    let out = unsafe { bytes(out, len) };
    let done = context.generator.generate(out, strength, fresh != 0);
    context.value_or_report(c"generate", done).is_some().into()
}

unsafe extern "C" fn reseed(
    context: *const Context,
    _fresh: c_int,
    _entropy: *const u8,
    _entropy_len: usize,
    _additional: *const u8,
    _additional_len: usize,
) -> c_int {
    // SAFETY: OpenSSL passes what `new` returned.
    let context = unsafe { &*context };
    let done = context.generator.reseed();
    context.value_or_report(c"reseed", done).is_some().into()
}

unsafe extern "C" fn nonce(
    context: *const Context,
    out: *mut u8,
    strength: c_uint,
    least: usize,
    most: usize,
) -> usize {
    // SAFETY: OpenSSL passes what `new` returned.
    let context = unsafe { &*context };
    let nonce = || {
        let len = context.generator.nonce_len(strength, least, most)?;
        // Without a buffer only the length is asked for.
        if !out.is_null() {
            // SAFETY: the buffer has the length that an earlier call without one returned, or `most`.
            context.generator.nonce(unsafe { bytes(out, len) })?;
        }
        Ok(len)
    };
    context.value_or_report(c"nonce", nonce()).unwrap_or(0)
}

unsafe extern "C" fn get_seed(
    context: *const Context,
    seed: *mut *mut u8,
    entropy: c_int,
    least: usize,
    most: usize,
    _fresh: c_int,
    _additional: *const u8,
    _additional_len: usize,
) -> usize {
    // SAFETY: OpenSSL passes what `new` returned.
    let context = unsafe { &*context };
    let bits = entropy.max(0) as u32;
    let len = context.generator.seed_len(bits, least, most);
    let Some(len) = context.value_or_report(c"get_seed", len) else {
        return 0;
    };
    let place = context.host.secure_malloc(len);
    if place.is_null() {
        return 0;
    }
    // SAFETY: allocated with this length just now.
    let filled = context.generator.seed(unsafe { bytes(place, len) });
    if context.value_or_report(c"get_seed", filled).is_none() {
        // SAFETY: it was allocated above, and nobody else has it.
        unsafe { context.host.secure_clear_free(place, len) };
        return 0;
    }
    // SAFETY: OpenSSL gives a place for a pointer.
    unsafe { seed.write(place) };
    len
}

unsafe extern "C" fn clear_seed(context: *const Context, seed: *mut u8, len: usize) {
    // SAFETY: OpenSSL passes what `new` and `get_seed` returned, and no longer uses the seed.
    unsafe { (*context).host.secure_clear_free(seed, len) };
}

extern "C" fn gettable(_context: *const Context, _provider: *const Provider) -> *const Param {
    GETTABLE.begin()
}

unsafe extern "C" fn get(context: *const Context, params: *mut Param) -> c_int {
    // SAFETY: OpenSSL passes what `new` returned, and parameters as in OSSL_PARAM(3).
    unsafe {
        let generator = &(*context).generator;
        params::answer(params, |key| generator.param(key)).into()
    }
}

/// A buffer of C as a slice; empty if `place` is null.
///
/// # Safety
/// `place` is null or writable for `len` bytes, which nobody else uses.
#[inline]
pub unsafe fn bytes<'a>(place: *mut u8, len: usize) -> &'a mut [u8] {
    if len == 0 || place.is_null() {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(place, len) }
}
