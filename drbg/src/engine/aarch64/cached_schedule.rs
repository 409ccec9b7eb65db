//! AES-256 under a key schedule kept as plain bytes, XORed into short requests.
//!
//! For requests of a few blocks, expanding a key takes longer than using it.

use super::{RoundKeys, is_available, run, schedule};
use crate::engine::{BLOCK, CACHED_SCHEDULE_LEN, without_carry};

/// Expands `key` into a schedule of plain bytes.
pub(in crate::engine) fn expand(key: &[u8; 32], schedule: &mut [u8; CACHED_SCHEDULE_LEN]) {
    let (keys, _) = schedule.as_chunks_mut::<BLOCK>();
    schedule::expand_256(key, keys.try_into().expect("it has fifteen round keys"));
}

/// XORs the keystream that starts at block `counter` into `out`.
pub(in crate::engine) fn xor_keystream(
    schedule: &[u8; CACHED_SCHEDULE_LEN],
    counter: u128,
    out: &mut [u8],
) {
    assert!(is_available());
    let (keys, _) = schedule.as_chunks::<BLOCK>();
    let keys: &RoundKeys = keys.try_into().expect("it has fifteen round keys");
    without_carry(counter, out, |counter, part| {
        // SAFETY: the instructions were just found.
        unsafe { run::<14, true>(keys, counter, part) }
    });
}
