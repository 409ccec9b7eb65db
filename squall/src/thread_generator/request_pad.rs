//! Delayed clone notification: what keeps clones apart until the kernel knows of the clone.
//!
//! Where vmgenid is the only signal, a clone runs for some time before the kernel has handled it,
//! and the buffer's bytes are its siblings' too. So buffers end with the kernel's
//! [tick](crate::guard::tick), and all requests but those for a number (a `u32` or `u64`) get a
//! *request pad*: they are XORed with a second keystream, AES-256 in counter mode under a key that
//! the generator gave when it was seeded, from a block numbered by the cycle counter and a word of
//! the CPU's random instruction. XORed with an independent stream, the buffer's bytes are no less
//! unpredictable than before; and what two clones get differs as long as either number does, in a
//! way that nobody can tell who does not have the key.
//!
//! Additional input would do the same by the standard's own means, at four times the cost: it is
//! what requests get that are too long for the buffer, and all on a CPU without AES instructions.
//! Numbers are left as they are: reading the cycle counter alone takes five times as long as a
//! `u32`.

use core::sync::atomic::{AtomicU8, Ordering};

use super::generator::Generator;
use crate::engine::{self, CACHED_SCHEDULE_LEN, Stores, registers};
use crate::entropy;
use crate::failpoint::{self, Failpoint};
use crate::guard::page::{PAD_SCHEDULE_LEN, Page};
use crate::guard::policy::Policy;
use crate::guard::tick;
use crate::secret::Secret;

const _: () = assert!(PAD_SCHEDULE_LEN == CACHED_SCHEDULE_LEN);

/// Bits by which cycle counts are apart as numbers of blocks: a small request has at most sixteen
/// blocks, so those of different counts have none in common.
const BLOCKS_BITS: u32 = (super::SMALL / engine::BLOCK).ilog2();

/// When this process would be notified of a clone.
static STATE: AtomicU8 = AtomicU8::new(AT_ONCE);

const AT_ONCE: u8 = 0;
const DELAYED: u8 = 1;
/// And small requests get a pad.
const WITH_PAD: u8 = 2;

/// Whether a clone may be given the numbers of its siblings.
#[inline(always)]
pub(crate) fn numbers_may_repeat() -> bool {
    STATE.load(Ordering::Relaxed) != AT_ONCE
}

/// From here on, buffers end with the tick and requests get a pad, in the whole process. To be
/// called before a buffer is used.
pub(super) fn begin(policy: &Policy) {
    if STATE.load(Ordering::Relaxed) == AT_ONCE {
        let state = if is_possible() { WITH_PAD } else { DELAYED };
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
pub(super) fn is_possible() -> bool {
    engine::can_cache_schedules() && !failpoint::is_off(Failpoint::CachedSchedule)
}

/// Puts the pads' key in place, when the page is seeded.
pub(super) fn prepare(page: Page, generator: &mut Generator) {
    let mut key = Secret::<32>::zeroed();
    let mut schedule = Secret::zeroed();
    generator.generate(&mut key[..], &[], Stores::Cached);
    engine::cache_schedule(&key, &mut schedule);
    page.store_pad_schedule(&schedule);
}

/// XORs a pad into what was taken from the page's buffer, where that is done. The page is to be
/// checked afterwards.
#[inline(always)]
pub(super) fn apply(page: Page, out: &mut [u8]) {
    if STATE.load(Ordering::Relaxed) == WITH_PAD {
        xor_pad(page, out);
    }
}

#[inline(never)]
fn xor_pad(page: Page, out: &mut [u8]) {
    let _clear = registers::clear_on_return();
    let mut schedule = Secret::zeroed();
    page.load_pad_schedule(&mut schedule);
    let [cycles, word] = entropy::additional_input::<2>();
    engine::xor_keystream(&schedule, block(cycles, word), out);
}

/// The block that a pad begins with.
fn block(cycles: u64, word: u64) -> u128 {
    u128::from(word) << 64 | u128::from(cycles << BLOCKS_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_generator::SMALL;

    #[test]
    fn pads_of_different_numbers_have_no_block_in_common() {
        const BLOCKS: u128 = (SMALL / engine::BLOCK) as u128;
        assert_eq!(block(0, 0), 0);
        assert_eq!(block(1, 0), BLOCKS);
        assert_eq!(block(0, 1), 1 << 64);
        assert_eq!(block(5, 7), (7 << 64) + 5 * BLOCKS);
        // Of a long count the upper bits do not reach the word.
        assert_eq!(block(u64::MAX, 7) >> 64, 7);
    }
}
