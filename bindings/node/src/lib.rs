//! The native module of squall for Node.js. It has what must be fast and what is unsafe. The rest is JavaScript
//! (`index.js`): names, arguments and their errors.
//!
//! The module checks memory itself: no argument makes a function write outside of its array. Every call draws from
//! squall, which checks that its state is still unique, and keeps no random byte for a later call.

use core::ffi::{CStr, c_void};
use core::fmt::Display;
use core::ptr::{dangling_mut, null_mut};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::thread;

use napi::bindgen_prelude::{
    BigInt, FromNapiValue, Function, JsValue, Object, ToNapiValue, TypeName, Unknown,
    ValidateNapiValue,
};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, ValueType, sys};
use napi_derive::napi;
use zeroize::Zeroizing;

/// The code of an error, such as `ERR_OUT_OF_RANGE`.
type Code = &'static str;
type Error = napi::Error<Code>;

/// The code of Node's own error if its generator fails.
const NO_RANDOMNESS: Code = "ERR_CRYPTO_OPERATION_FAILED";

/// The error for a machine without a source of randomness.
fn no_randomness(error: squall::Error) -> Error {
    Error::new(NO_RANDOMNESS, error.to_string())
}

fn out_of_range(reason: &str) -> Error {
    Error::new("ERR_OUT_OF_RANGE", reason)
}

/// The bytes of a `Uint8Array`, during a call.
pub struct Bytes<'call>(&'call mut [u8]);

impl FromNapiValue for Bytes<'_> {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: the caller's promise. The conversion refuses whatever is no `Uint8Array`. JavaScript runs again only
        // after the call, so the array keeps its memory. The program must not use a SharedArrayBuffer in another thread
        // meanwhile, as with Node's own functions.
        unsafe { FromNapiValue::from_napi_value(env, value) }.map(Bytes)
    }
}

impl TypeName for Bytes<'_> {
    fn type_name() -> &'static str {
        "Uint8Array"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ValidateNapiValue for Bytes<'_> {}

impl Bytes<'_> {
    /// `length` bytes from number `start` on.
    fn range(&mut self, start: f64, length: f64) -> Result<&mut [u8], Error> {
        let start = start as usize;
        self.0
            .get_mut(start..start.saturating_add(length as usize))
            .ok_or_else(|| out_of_range("the array has fewer bytes"))
    }
}

/// Fills `length` bytes of an array from number `start` on.
#[napi]
pub fn fill(mut array: Bytes, start: f64, length: f64) -> Result<(), Error> {
    squall::try_fill(array.range(start, length)?).map_err(no_randomness)
}

/// The text of a UUID, which becomes a JavaScript string.
pub struct Uuid(Zeroizing<[u8; 36]>);

impl ToNapiValue for Uuid {
    unsafe fn to_napi_value(env: sys::napi_env, uuid: Self) -> napi::Result<sys::napi_value> {
        let mut string = null_mut();
        // SAFETY: the caller's promise; the text is copied.
        napi::check_status!(unsafe {
            sys::napi_create_string_latin1(env, uuid.0.as_ptr().cast(), 36, &mut string)
        })?;
        Ok(string)
    }
}

/// A UUID of 16 random bytes (RFC 9562), after `prepare` has set some of them.
fn uuid(version: u8, prepare: impl FnOnce(&mut [u8; 16])) -> Result<Uuid, Error> {
    let mut bytes = Zeroizing::new([0_u8; 16]);
    squall::try_fill(&mut bytes[..]).map_err(no_randomness)?;
    prepare(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = Zeroizing::new([b'-'; 36]);
    let mut at = 0;
    for (number, byte) in bytes.iter().enumerate() {
        if matches!(number, 4 | 6 | 8 | 10) {
            at += 1;
        }
        for digit in [byte >> 4, byte & 15] {
            text[at] = b"0123456789abcdef"[usize::from(digit)];
            at += 1;
        }
    }
    Ok(Uuid(text))
}

/// A UUID of version 4.
#[napi(js_name = "randomUUID")]
pub fn random_uuid() -> Result<Uuid, Error> {
    uuid(4, |_| ())
}

/// A UUID of version 7, which begins with a Unix time in milliseconds.
#[napi(js_name = "randomUUIDv7")]
pub fn random_uuid_v7(time: f64) -> Result<Uuid, Error> {
    uuid(7, |bytes| {
        bytes[..6].copy_from_slice(&(time as u64).to_be_bytes()[2..]);
    })
}

/// Bytes of the scratch memory.
const SCRATCH_LENGTH: usize = 64;

/// The environment that loaded the module first, the main thread's as a rule, and its scratch memory. It need not ask
/// Node.js for the memory, which would take a seventh of a call.
static FIRST_ENVIRONMENT: AtomicPtr<sys::napi_env__> = AtomicPtr::new(null_mut());
static FIRST_SCRATCH: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Exports `scratch`, and the functions that fill it: `fillScratch(n)` its first `n` bytes, and `fillWords()` its first 8.
/// It is a `SharedArrayBuffer`, because JavaScript could transfer an `ArrayBuffer`, whose memory would be freed. If a
/// program has taken that class away, it is an `ArrayBuffer`, which must not be transferred.
///
/// It is for short results, which V8 keeps on its own heap. If native code asked for their memory, V8 would move it,
/// which takes longer than to copy the bytes.
#[napi(module_exports)]
pub fn export_scratch(exports: Object, env: Env) -> napi::Result<()> {
    let memory = "globalThis.SharedArrayBuffer ?? ArrayBuffer";
    let bytes: Unknown =
        env.run_script(format!("new Uint8Array(new ({memory})({SCRATCH_LENGTH}))"))?;
    let (env, exports, bytes) = (env.raw(), exports.raw(), bytes.raw());
    let (mut length, mut place) = (0, null_mut());
    let (mut scratch, mut reference) = (null_mut(), null_mut());
    // SAFETY: the arguments are of this call, and the places this function's. The reference is never deleted, so the
    // memory lives as long as the environment.
    unsafe {
        napi::check_status!(sys::napi_get_typedarray_info(
            env,
            bytes,
            null_mut(),
            &mut length,
            &mut place,
            &mut scratch,
            null_mut()
        ))?;
        if length != SCRATCH_LENGTH {
            return Err(napi::Error::from_reason(
                "the engine's Uint8Array was replaced",
            ));
        }
        napi::check_status!(sys::napi_create_reference(env, scratch, 1, &mut reference))?;
        napi::check_status!(sys::napi_set_named_property(
            env,
            exports,
            c"scratch".as_ptr(),
            scratch
        ))?;
        export_filler(env, exports, c"fillScratch", fill_scratch, place)?;
        export_filler(env, exports, c"fillWords", fill_words, place)?;
    }
    remember_first(env, place);
    Ok(())
}

/// A second load with the first one's address has memory of its own: the environment is a later one at the same place,
/// or a runtime gives all loads of a thread one environment. From then on nobody is the first. Other threads compare
/// with their own environment.
fn remember_first(env: sys::napi_env, scratch: *mut c_void) {
    match FIRST_ENVIRONMENT.compare_exchange(null_mut(), env, Relaxed, Relaxed) {
        Ok(_) => FIRST_SCRATCH.store(scratch, Relaxed),
        Err(first) if first == env => FIRST_ENVIRONMENT.store(dangling_mut(), Relaxed),
        Err(_) => {}
    }
}

type Filler = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// Exports a function that does without napi's wrappers, which would take as much time again.
///
/// # Safety
/// `env` and `exports` are of this call; `scratch` lives as long as the environment.
unsafe fn export_filler(
    env: sys::napi_env,
    exports: sys::napi_value,
    name: &CStr,
    filler: Filler,
    scratch: *mut c_void,
) -> napi::Result<()> {
    let mut function = null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        napi::check_status!(sys::napi_create_function(
            env,
            null_mut(),
            0,
            Some(filler),
            scratch,
            &mut function
        ))?;
        napi::check_status!(sys::napi_set_named_property(
            env,
            exports,
            name.as_ptr(),
            function
        ))
    }
}

unsafe extern "C" fn fill_scratch(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    let (mut count, mut argument, mut place, mut length) = (1, null_mut(), null_mut(), u32::MAX);
    // SAFETY: Node.js calls this with both; the places are this function's.
    let is_number = unsafe {
        sys::napi_get_cb_info(env, info, &mut count, &mut argument, null_mut(), &mut place);
        sys::napi_get_value_uint32(env, argument, &mut length) == sys::Status::napi_ok
    };
    let drawn = if is_number && length as usize <= SCRATCH_LENGTH {
        // SAFETY: `export_scratch` has made the memory, of that length. As with `Bytes`, no other thread may use it.
        let bytes = unsafe { core::slice::from_raw_parts_mut(place.cast(), length as usize) };
        squall::try_fill(bytes).map_err(no_randomness)
    } else {
        Err(out_of_range("the scratch memory has fewer bytes"))
    };
    throw(env, drawn)
}

unsafe extern "C" fn fill_words(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    let mut place = FIRST_SCRATCH.load(Relaxed);
    if env != FIRST_ENVIRONMENT.load(Relaxed) {
        // SAFETY: Node.js calls this with both; the place is this function's.
        unsafe { sys::napi_get_cb_info(env, info, null_mut(), null_mut(), null_mut(), &mut place) };
    }
    // SAFETY: `export_scratch` has made the memory, which is longer. As with `Bytes`, no other thread may use it.
    let words = unsafe { &mut *place.cast::<[u8; 8]>() };
    throw(env, squall::try_fill(words).map_err(no_randomness))
}

/// Ends a call: throws the error, if it is one.
fn throw(env: sys::napi_env, result: Result<(), Error>) -> sys::napi_value {
    if let Err(error) = result {
        // SAFETY: of this call.
        unsafe { napi::JsError::from(error).throw_into(env) };
    }
    null_mut()
}

/// The protections of this process and the work of its generator, as JSON.
#[napi]
pub fn status() -> Result<String, Error> {
    squall_binding_base::facts::json().map_err(no_randomness)
}

/// A number that changes when this process may be running in a clone of its machine; null if that is unknown.
#[napi]
pub fn clone_generation() -> Option<BigInt> {
    squall::clones::generation().map(|generation| generation.get().into())
}

/// How long a watching thread may outlive the worker that started it.
const EXIT_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Starts a thread that calls `listener` with null whenever the machine may have been cloned. After an error it calls
/// `listener` with the message, and ends. The thread does not keep the process alive.
#[napi]
pub fn watch_clones(listener: Function<Option<String>, ()>) -> Result<(), Error> {
    let unavailable =
        |error: &dyn Display| Error::new("ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", error.to_string());
    let mut watch = squall::clones::Watch::new().map_err(|error| unavailable(&error))?;
    let listener = listener.build_threadsafe_function().weak::<true>().build();
    let listener = listener.map_err(|error| unavailable(&error))?;
    let watching = move || {
        while !listener.aborted() {
            let reason = match watch.wait(Some(EXIT_CHECK_INTERVAL)) {
                Ok(false) => continue,
                Ok(true) => None,
                Err(error) => Some(error.to_string()),
            };
            let is_last = reason.is_some();
            listener.call(reason, ThreadsafeFunctionCallMode::NonBlocking);
            if is_last {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("squall-clones".into());
    thread
        .spawn(watching)
        .map_err(|error| unavailable(&error))?;
    Ok(())
}

/// A key as 2^64 reproducible bytes.
#[napi]
pub struct Keystream(squall::Stream);

#[napi]
impl Keystream {
    #[napi(constructor)]
    pub fn new(key: Bytes) -> Result<Keystream, Error> {
        // Not by a copy, which would have to be wiped.
        let key: &[u8; 32] = (&*key.0)
            .try_into()
            .map_err(|_| out_of_range("the key must be 32 bytes"))?;
        Ok(Keystream(squall::Stream::new(key)))
    }

    /// Fills an array with the next bytes. Returns false, and writes nothing, if fewer are left.
    #[napi]
    pub fn fill(&mut self, array: Bytes) -> bool {
        self.0.fill(array.0).is_ok()
    }

    /// Moves to byte `offset`, which is below 2^64.
    #[napi]
    pub fn seek(&mut self, offset: BigInt) {
        self.0.seek(offset.get_u64().1);
    }
}
