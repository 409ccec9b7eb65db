//! What other crates compile of squall-drbg for themselves, as functions with the C ABI that the proof can name.
#![no_std]

use squall_drbg::internal::ExpandedKey;
use squall_drbg::{Aes128, Aes256, Cipher, Engine, Stores};

/// The numbers of the engines, in the order of the proof.
#[unsafe(no_mangle)]
pub static PROBE_ENGINES: [Engine; 3] = [Engine::AesNi, Engine::Vaes256, Engine::Vaes512];

/// Where the round keys are in an expanded key; null if it is for no loop of AES instructions.
#[inline(always)]
fn keys<C: Cipher>(key: &ExpandedKey<C>) -> *const u8 {
    match key {
        ExpandedKey::Instructions(expanded) => (&raw const expanded.keys).cast(),
        ExpandedKey::Portable(_) => core::ptr::null(),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn probe_keys_128(key: &ExpandedKey<Aes128>) -> *const u8 {
    keys(key)
}

#[unsafe(no_mangle)]
pub extern "C" fn probe_keys_256(key: &ExpandedKey<Aes256>) -> *const u8 {
    keys(key)
}

/// # Safety
/// `key` is for a loop of AES instructions, and `len` bytes are writable at `out`.
#[inline(always)]
unsafe fn keystream<C: Cipher>(
    key: &ExpandedKey<C>,
    low: u64,
    high: u64,
    out: *mut u8,
    len: usize,
    streaming: bool,
) {
    let counter = u128::from(high) << 64 | u128::from(low);
    // SAFETY: the caller guarantees it.
    let out = unsafe { core::slice::from_raw_parts_mut(out, len) };
    let stores = if streaming {
        Stores::Streaming
    } else {
        Stores::Cached
    };
    match key {
        ExpandedKey::Instructions(_) => key.keystream(counter, out, stores),
        // SAFETY: the caller guarantees it.
        ExpandedKey::Portable(_) => unsafe { core::hint::unreachable_unchecked() },
    }
}

/// # Safety
/// See [`keystream`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_128(
    key: &ExpandedKey<Aes128>,
    low: u64,
    high: u64,
    out: *mut u8,
    len: usize,
    streaming: bool,
) {
    // SAFETY: the caller guarantees it.
    unsafe { keystream(key, low, high, out, len, streaming) }
}

/// # Safety
/// See [`keystream`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_256(
    key: &ExpandedKey<Aes256>,
    low: u64,
    high: u64,
    out: *mut u8,
    len: usize,
    streaming: bool,
) {
    // SAFETY: the caller guarantees it.
    unsafe { keystream(key, low, high, out, len, streaming) }
}
