//! Reproducible streams: objects on the heap, whose keys are wiped before their memory is freed.

use core::ffi::{c_int, c_void};
use core::ptr;
use std::alloc::{Layout, alloc};

use squall::{Engine, Stream};

use crate::buffer;
use crate::error::{SQUALL_E_END_OF_STREAM, SQUALL_E_NULL, SQUALL_OK, code};

/// A reproducible, seekable stream of 2^64 bytes: AES-256 in counter mode from counter zero.
///
/// Byte i of the stream is byte i % 16 of AES-256(key, i / 16), the block counter as 16 big-endian
/// bytes (FIPS 197; NIST SP 800-38A section 6.5). Use it for wiping, verifying and seeded data.
///
/// A stream is as secret as its key, and reproducible by design: for keys and tokens use `squall_fill`.
/// A forked child and a clone of the virtual machine continue with the same bytes as their siblings.
///
/// Only one thread at a time may use a stream; different threads may use different streams. A signal
/// handler must not use a stream whose use it may have interrupted.
#[allow(non_camel_case_types)]
pub struct squall_stream(Stream);

/// Makes the stream of a key of 32 bytes, at byte 0. Free it with `squall_stream_free`.
///
/// Returns null if `key` is null or there is no memory. The caller's copy of the key is not needed
/// afterwards and should be erased.
/// cbindgen:ptrs-as-arrays=[[key; 32]]
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn squall_stream_new(key: *const u8) -> *mut squall_stream {
    // SAFETY: null, or 32 bytes as the header demands; any bytes are a valid key.
    let Some(key) = (unsafe { key.cast::<[u8; 32]>().as_ref() }) else {
        return ptr::null_mut();
    };
    let Ok(stream) = Stream::new_on(Engine::best_aes(), key) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has a size.
    let stream_memory = unsafe { alloc(Layout::new::<squall_stream>()) }.cast::<squall_stream>();
    if !stream_memory.is_null() {
        // SAFETY: memory for a stream, aligned for it.
        unsafe { stream_memory.write(squall_stream(stream)) };
    }
    stream_memory
}

/// Wipes a stream and frees its memory. `stream` may be null; it must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_stream_free(stream: *mut squall_stream) {
    if !stream.is_null() {
        // SAFETY: the header demands a stream of `squall_stream_new` that nobody uses any more; it was
        // allocated with the layout of its type.
        drop(unsafe { Box::from_raw(stream) });
    }
}

/// Fills `len` bytes at `buf` with the next bytes of the stream. `buf` may be null if `len` is 0.
///
/// Returns `SQUALL_OK`, `SQUALL_E_NULL`, `SQUALL_E_LENGTH`, or `SQUALL_E_END_OF_STREAM` if fewer
/// than `len` bytes are left. After an error nothing was written, and the stream has not moved.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn squall_stream_fill(
    stream: *mut squall_stream,
    buf: *mut c_void,
    len: usize,
) -> c_int {
    // SAFETY: null, or as the header demands a stream that only this thread uses.
    let Some(stream) = (unsafe { stream.as_mut() }) else {
        return SQUALL_E_NULL;
    };
    // SAFETY: the header says so to the caller.
    let filled = match unsafe { buffer::writable(buf.cast(), len) } {
        Ok(out) => stream.0.fill(out),
        Err(code) => return code,
    };
    filled.map_or_else(code, |()| SQUALL_OK)
}

/// Moves to byte `offset` of the stream. Returns `SQUALL_OK`, or `SQUALL_E_NULL` if `stream` is
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_stream_seek(stream: *mut squall_stream, offset: u64) -> c_int {
    // SAFETY: null, or as the header demands a stream that only this thread uses.
    let Some(stream) = (unsafe { stream.as_mut() }) else {
        return SQUALL_E_NULL;
    };
    stream.0.seek(offset);
    SQUALL_OK
}

/// Writes the offset of the stream's next byte to `offset`.
///
/// Returns `SQUALL_OK`, `SQUALL_E_NULL`, or `SQUALL_E_END_OF_STREAM` at the end, after byte 2^64 - 1.
/// After an error nothing was written.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn squall_stream_position(
    stream: *const squall_stream,
    offset: *mut u64,
) -> c_int {
    // SAFETY: null, or as the header demands a stream that only this thread uses, and a number.
    let (Some(stream), Some(offset)) = (unsafe { (stream.as_ref(), offset.as_mut()) }) else {
        return SQUALL_E_NULL;
    };
    match stream.0.position() {
        Some(position) => {
            *offset = position;
            SQUALL_OK
        }
        None => SQUALL_E_END_OF_STREAM,
    }
}
