//! Makes small requests different from the same requests of a clone that has not been told yet
//! that it is one.
//!
//! Where vmgenid is the only signal, a clone runs for some time before the kernel has handled it,
//! and the buffer's bytes are its siblings' too. So requests that may be keys or nonces are XORed
//! with a second keystream: AES-256 in counter mode, under a key that the generator gave when it
//! was seeded, from a block numbered by the cycle counter and a word of the CPU's random
//! instruction. XORed with an independent stream, the buffer's bytes are no less unpredictable
//! than before; and what two clones get differs as long as either number does, in a way that
//! nobody can tell who does not have the key.
//!
//! Additional input would do the same by the standard's own means, at four times the cost. Words
//! are left as they are: reading the cycle counter alone takes six times as long as a `u32`.

use core::sync::atomic::{AtomicBool, Ordering};

use super::generator::Generator;
use crate::engine::{self, KEPT_KEYS_LEN, Stores};
use crate::entropy;
use crate::guard::page::{MASK_KEYS_LEN, Page};
use crate::secret::Secret;

const _: () = assert!(MASK_KEYS_LEN == KEPT_KEYS_LEN);

/// Longest request that is never masked, in bytes: a `u64`.
const WORD: usize = size_of::<u64>();

static ON: AtomicBool = AtomicBool::new(false);

/// From here on, requests served from buffers are masked, in the whole process; true if they were
/// not before.
pub(super) fn turn_on() -> bool {
    !ON.load(Ordering::Relaxed) && !ON.swap(true, Ordering::Relaxed)
}

/// Whether this CPU is fast enough at it. On others such requests are served by the generator,
/// with additional input.
pub(super) fn is_available() -> bool {
    engine::can_keep_keys()
}

/// Whether a request of `len` bytes may be a key or a nonce.
#[inline(always)]
pub(super) fn is_for(len: usize) -> bool {
    len > WORD
}

/// Puts the key in place, when the page is seeded.
pub(super) fn prepare(page: Page, generator: &mut Generator) {
    let mut key = Secret::<32>::zeroed();
    let mut keys = Secret::zeroed();
    generator.generate(&mut key[..], &[], Stores::Cached);
    engine::keep_keys(&key, &mut keys);
    page.store_mask_keys(&keys);
}

/// Masks what was taken from the page's buffer, where that is needed. The page is to be checked
/// afterwards.
#[inline(always)]
pub(super) fn apply_if_on(page: Page, out: &mut [u8]) {
    if is_for(out.len()) && ON.load(Ordering::Relaxed) {
        apply(page, out);
    }
}

#[inline(never)]
pub(super) fn apply(page: Page, out: &mut [u8]) {
    let mut keys = Secret::zeroed();
    page.load_mask_keys(&mut keys);
    let [cycles, word] = entropy::additional_input::<2>();
    let block = u128::from(word) << 64 | u128::from(cycles);
    engine::xor_keystream(&keys, block, out);
}
