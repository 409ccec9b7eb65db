//! The native library of squall for Java: the methods of `org.squallrng.Native`, by the Java Native Interface.
//!
//! Every call draws from squall, which checks that its state is still unique, and keeps no random byte for a later call.
//! Java may move its arrays, so squall generates the bytes on the stack, copies them, and wipes the stack.

use core::ptr::null_mut;
use std::ffi::CString;

use jni_sys::{JNI_FALSE, JNI_TRUE, JNIEnv, jboolean, jbyteArray, jclass, jint, jlong, jstring};
use squall::clones::{self, Watch};
use zeroize::Zeroize;

/// Bytes of a short request, such as a UUID or a nonce.
const SHORT_LEN: usize = 64;

/// Bytes of a longer request that are generated at once.
const PART_LEN: usize = 4096;

/// Fills an array of this length, with `fresh` under a new seed. Returns false without a source of randomness.
///
/// # Safety
/// Java calls it, with its environment, an array and its length.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_org_squallrng_Native_fill(
    env: *mut JNIEnv,
    _: jclass,
    array: jbyteArray,
    len: jint,
    fresh: jboolean,
) -> jboolean {
    let fill = match fresh {
        JNI_FALSE => squall::try_fill,
        _ => squall::try_fill_fresh,
    };
    // SAFETY: the caller's promise.
    unsafe {
        match len as usize {
            ..=SHORT_LEN => fill_in_parts::<SHORT_LEN>(env, array, len, fill),
            _ => fill_in_parts::<PART_LEN>(env, array, len, fill),
        }
    }
}

/// Fills an array with `N` bytes at a time.
///
/// # Safety
/// Same as above.
unsafe fn fill_in_parts<const N: usize>(
    env: *mut JNIEnv,
    array: jbyteArray,
    len: jint,
    fill: impl Fn(&mut [u8]) -> Result<(), squall::Error>,
) -> jboolean {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < len {
        let part = &mut bytes[..N.min((len - at) as usize)];
        if fill(part).is_err() {
            return JNI_FALSE;
        }
        let part_len = part.len() as jint;
        // SAFETY: the part lies within the array.
        unsafe {
            ((**env).v1_1.SetByteArrayRegion)(env, array, at, part_len, part.as_ptr().cast())
        };
        part.zeroize();
        at += part_len;
    }
    JNI_TRUE
}

/// The status as JSON; null without a source of randomness.
///
/// # Safety
/// Java calls it, with its environment.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_org_squallrng_Native_status(env: *mut JNIEnv, _: jclass) -> jstring {
    let Ok(json) = squall_binding_base::facts::json() else {
        return null_mut();
    };
    let json = CString::new(json).expect("no null byte");
    // SAFETY: Java's environment, and a string of ASCII characters.
    unsafe { ((**env).v1_1.NewStringUTF)(env, json.as_ptr()) }
}

/// The clone generation; 0 if it is unknown.
#[unsafe(no_mangle)]
extern "system" fn Java_org_squallrng_Native_cloneGeneration(_: *mut JNIEnv, _: jclass) -> jlong {
    clones::generation().map_or(0, |generation| generation.get() as jlong)
}

/// A watch, which `awaitClone` frees if it fails; 0 if this process cannot notice clones.
#[unsafe(no_mangle)]
extern "system" fn Java_org_squallrng_Native_newCloneWatch(_: *mut JNIEnv, _: jclass) -> jlong {
    Watch::new().map_or(0, |watch| Box::into_raw(Box::new(watch)) as jlong)
}

/// Waits for the next clone. Returns false if the watch has failed, and frees it.
///
/// # Safety
/// `watch` is a result of `newCloneWatch` that has not failed, and no other thread uses it.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_org_squallrng_Native_awaitClone(
    _: *mut JNIEnv,
    _: jclass,
    watch: jlong,
) -> jboolean {
    let watch = watch as *mut Watch;
    // SAFETY: the caller's promise.
    match unsafe { (*watch).wait(None) } {
        Ok(_) => JNI_TRUE,
        Err(_) => {
            // SAFETY: it was a box, and the caller does not use it again.
            drop(unsafe { Box::from_raw(watch) });
            JNI_FALSE
        }
    }
}
