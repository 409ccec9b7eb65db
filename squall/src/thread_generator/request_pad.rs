//! Request pads, which make the output of clones differ while notification is delayed.
//!
//! Where vmgenid is the only signal, a clone runs for some time before the kernel has handled it,
//! and its siblings hold the same buffers. So buffers expire with the kernel's
//! [tick](crate::guard::tick), and all requests except those for a number (a `u32` or `u64`) get a
//! *request pad*: they are XORed with a second keystream, AES-256 in counter mode under a key that
//! the generator gave when it was seeded. The pad's first block is numbered by the cycle counter
//! and a word of the CPU's random instruction. XORed with an independent keystream, the buffer's
//! bytes are no less unpredictable than before; and the output of two clones differs as long as
//! either number does, in a way that nobody without the key can tell.
//!
//! Additional input would do the same by the standard's own means, at four times the cost. It
//! serves requests that are too long for the buffer, and all requests on a CPU without AES
//! instructions. Numbers get no pad: reading the cycle counter alone takes five times as long as
//! a `u32`.

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

/// Shift from cycle counts to block numbers: a small request has at most sixteen blocks, so the
/// pads of different counts share none.
const BLOCKS_BITS: u32 = (super::SMALL / engine::BLOCK).ilog2();

/// How soon this process would be notified of a clone, and whether small requests get a pad.
static STATE: AtomicU8 = AtomicU8::new(AT_ONCE);

const AT_ONCE: u8 = 0;
const DELAYED: u8 = 1;
/// Notification is delayed, and small requests get a pad.
const WITH_PAD: u8 = 2;

/// Whether clones may get the same numbers.
#[inline(always)]
pub(crate) fn numbers_may_repeat() -> bool {
    STATE.load(Ordering::Relaxed) != AT_ONCE
}

/// Switches the whole process to delayed notification: buffers expire with the tick and requests
/// get a pad, if this CPU can. Call it before using a buffer.
pub(super) fn begin(policy: &Policy) {
    if STATE.load(Ordering::Relaxed) == AT_ONCE {
        let state = if is_possible() { WITH_PAD } else { DELAYED };
        STATE.store(state, Ordering::Relaxed);
        follow_tick(policy);
    }
}

/// Makes sure that the tick is followed, if it can be: its address changes when the process enters
/// another time namespace.
pub(super) fn follow_tick(policy: &Policy) {
    if let (true, Some(vdso)) = (numbers_may_repeat(), policy.vdso) {
        tick::follow(vdso);
    }
}

/// Whether this CPU has the AES instructions that pads need.
pub(super) fn is_possible() -> bool {
    engine::can_cache_schedules() && !failpoint::is_off(Failpoint::CachedSchedule)
}

/// Generates the key of the pads and stores its round keys in the page, during a seeding.
pub(super) fn prepare(page: Page, generator: &mut Generator) {
    let mut key = Secret::<32>::zeroed();
    let mut schedule = Secret::zeroed();
    generator.generate(&mut key[..], &[], Stores::Cached);
    engine::cache_schedule(&key, &mut schedule);
    page.store_pad_schedule(&schedule);
}

/// XORs a pad onto bytes taken from the page's buffer, if this process uses pads. The caller checks
/// the page afterwards.
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

/// The number of a pad's first block.
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
        // The upper bits of a long count do not reach the word.
        assert_eq!(block(u64::MAX, 7) >> 64, 7);
    }
}
