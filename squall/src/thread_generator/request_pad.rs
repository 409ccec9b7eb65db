//! Request pads make the bytes that are served different in each copy of the machine or the process.
//!
//! Where a copy may run before anything shows it, all copies continue with the same buffers. A
//! request whose bytes may be in all of these buffers gets a *request pad*: it is XORed with a second
//! keystream, AES-256 in counter mode under a key that the generator gave when it was seeded. The
//! pad's first block is numbered by the cycle counter and a word of the CPU's random instruction.
//! XORed with an independent keystream, the buffer's bytes are no less unpredictable than before; and
//! the output of two clones differs if either number does, and nobody without the key can tell how.
//!
//! Additional input achieves the same by the standard's own means, at four times the cost. It is used
//! for requests that are too long for the buffer, and for all requests on a CPU without AES
//! instructions.

use super::generator::Generator;
use crate::entropy;
use crate::failpoint::{self, Failpoint};
use crate::guard::page::{PAD_SCHEDULE_LEN, Page, Word};
use crate::guard::thread_line::SMALL;
use squall_drbg::Stores;
use squall_drbg::internal::{
    BLOCK, CACHED_SCHEDULE_LEN, Secret, cache_schedule, can_cache_schedules, registers, wipe,
    xor_keystream,
};

const _: () = assert!(PAD_SCHEDULE_LEN == CACHED_SCHEDULE_LEN);

/// Shift from cycle counts to block numbers: a small request has at most sixteen blocks, so the
/// pads of different counts share none.
const BLOCKS_BITS: u32 = (SMALL / BLOCK).ilog2();

/// Whether this CPU has the AES instructions that pads need.
pub(super) fn is_available() -> bool {
    can_cache_schedules() && !failpoint::is_active(Failpoint::HideCachedSchedule)
}

/// Generates the key of the pads and stores its round keys in the page, during a seeding.
pub(super) fn prepare(page: Page, generator: &mut Generator) {
    let mut key = Secret::<32>::zeroed();
    let mut schedule = Secret::zeroed();
    generator.generate(&mut key[..], &[], Stores::Cached);
    cache_schedule(&key, &mut schedule);
    page.store_pad_schedule(&schedule);
}

/// XORs a pad onto bytes that were taken from the page's buffer before. The caller checks the page afterwards.
#[inline(never)]
pub(super) fn apply(page: Page, out: &mut [u8]) -> &mut [u8] {
    let _clear = registers::clear_on_return();
    let [cycles, word] = entropy::additional_input();
    page.with_pad_schedule(|schedule| xor_keystream(schedule, first_block(cycles, word), out));
    out
}

/// Same as [`apply`], for a word.
pub(super) fn apply_to_word<W: Word>(page: Page, word: W) -> W {
    let mut bytes = word.to_bytes();
    apply(page, bytes.as_mut());
    let padded = W::from_bytes(&bytes);
    wipe(bytes.as_mut());
    padded
}

/// The number of a pad's first block.
fn first_block(cycles: u64, word: u64) -> u128 {
    u128::from(word) << 64 | u128::from(cycles << BLOCKS_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_generator::SMALL;

    #[test]
    fn pads_of_different_numbers_have_no_block_in_common() {
        const BLOCKS: u128 = (SMALL / BLOCK) as u128;
        assert_eq!(first_block(0, 0), 0);
        assert_eq!(first_block(1, 0), BLOCKS);
        assert_eq!(first_block(0, 1), 1 << 64);
        assert_eq!(first_block(5, 7), (7 << 64) + 5 * BLOCKS);
        // The upper bits of a long count do not reach the word.
        assert_eq!(first_block(u64::MAX, 7) >> 64, 7);
    }
}
