//! What is done where a VM clone is told late that it is one.
//!
//! Where vmgenid is the only signal, a clone runs for some time before the kernel has handled it,
//! and the buffer's bytes are its siblings' too. So buffers end with the kernel's
//! [tick](crate::guard::tick), and all requests but those for a number (a `u32` or `u64`) are
//! *masked*: XORed with a second keystream, AES-256 in counter mode under a key that the generator
//! gave when it was seeded, from a block numbered by the cycle counter and a word of the CPU's
//! random instruction. XORed with an independent stream, the buffer's bytes are no less
//! unpredictable than before; and what two clones get differs as long as either number does, in a
//! way that nobody can tell who does not have the key.
//!
//! Additional input would do the same by the standard's own means, at four times the cost: it is
//! what requests get that are too long for the buffer, and all on a CPU without AES instructions.
//! Numbers are left as they are: reading the cycle counter alone takes five times as long as a
//! `u32`.

use core::sync::atomic::{AtomicU8, Ordering};

use super::generator::Generator;
use crate::engine::{self, KEPT_KEYS_LEN, Stores, registers};
use crate::entropy;
use crate::guard::page::{MASK_KEYS_LEN, Page};
use crate::guard::policy::Policy;
use crate::guard::tick;
use crate::seam::{self, Seam};
use crate::secret::Secret;

const _: () = assert!(MASK_KEYS_LEN == KEPT_KEYS_LEN);

/// Bits by which cycle counts are apart as numbers of blocks: a small request has at most sixteen
/// blocks, so those of different counts have none in common.
const BLOCKS_BITS: u32 = (super::SMALL / engine::BLOCK).ilog2();

/// Whether this is such a machine, in this process.
static STATE: AtomicU8 = AtomicU8::new(NOT_LATE);

const NOT_LATE: u8 = 0;
const LATE: u8 = 1;
/// And small requests are masked.
const MASKED: u8 = 2;

/// Whether a clone may be given the numbers of its siblings.
#[inline(always)]
pub(crate) fn numbers_may_repeat() -> bool {
    STATE.load(Ordering::Relaxed) != NOT_LATE
}

/// From here on, buffers end with the tick and requests are masked, in the whole process. To be
/// called before a buffer is used.
pub(super) fn begin(policy: &Policy) {
    if STATE.load(Ordering::Relaxed) == NOT_LATE {
        let state = if can_mask() { MASKED } else { LATE };
        STATE.store(state, Ordering::Relaxed);
        follow_tick(policy);
    }
}

/// Makes sure that the tick is followed, if it can be: its place moves when the process enters
/// another time namespace.
pub(super) fn follow_tick(policy: &Policy) {
    if let (true, Some(vdso)) = (numbers_may_repeat(), policy.vdso) {
        tick::follow(vdso);
    }
}

/// Whether this CPU is fast enough at it.
pub(super) fn can_mask() -> bool {
    engine::can_keep_keys() && !seam::is_off(Seam::KeptKeys)
}

/// Puts the key of masks in place, when the page is seeded.
pub(super) fn prepare(page: Page, generator: &mut Generator) {
    let mut key = Secret::<32>::zeroed();
    let mut keys = Secret::zeroed();
    generator.generate(&mut key[..], &[], Stores::Cached);
    engine::keep_keys(&key, &mut keys);
    page.store_mask_keys(&keys);
}

/// Masks what was taken from the page's buffer, where that is done. The page is to be checked
/// afterwards.
#[inline(always)]
pub(super) fn mask(page: Page, out: &mut [u8]) {
    if STATE.load(Ordering::Relaxed) == MASKED {
        xor_mask(page, out);
    }
}

#[inline(never)]
fn xor_mask(page: Page, out: &mut [u8]) {
    let _clear = registers::clear_on_return();
    let mut keys = Secret::zeroed();
    page.load_mask_keys(&mut keys);
    let [cycles, word] = entropy::additional_input::<2>();
    engine::xor_keystream(&keys, block(cycles, word), out);
}

/// The block that a mask begins with.
fn block(cycles: u64, word: u64) -> u128 {
    u128::from(word) << 64 | u128::from(cycles << BLOCKS_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::SMALL;

    #[test]
    fn masks_of_different_numbers_have_no_block_in_common() {
        const BLOCKS: u128 = (SMALL / engine::BLOCK) as u128;
        assert_eq!(block(0, 0), 0);
        assert_eq!(block(1, 0), BLOCKS);
        assert_eq!(block(0, 1), 1 << 64);
        assert_eq!(block(5, 7), (7 << 64) + 5 * BLOCKS);
        // Of a long count the upper bits do not reach the word.
        assert_eq!(block(u64::MAX, 7) >> 64, 7);
    }
}
