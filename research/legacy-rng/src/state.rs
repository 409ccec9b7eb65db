//! The old RNG's complete state, and the steps that involve several parts of it.

use super::estimator::Estimator;
use super::ints::Ints;
use super::pool::{EXTRACT_LEN, Pool};

/// Credited bits of the input pool above which most timer events are dropped: 28 words' of 128.
pub const TRICKLE_THRESHOLD: u32 = 128 * 28;

/// While events are dropped, one in this many is not.
const TRICKLE_EVERY: u32 = 4096;

/// Bytes a reader is woken for, which are also the fewest that a transfer moves.
const WAKEUP_LEN: usize = 8;

/// Bytes that transfers to /dev/urandom's pool leave in the input pool for /dev/random.
const RESERVED_LEN: usize = 16;

/// Most bytes that a transfer moves: the size of an output pool.
const MAX_TRANSFER_LEN: usize = 128;

/// Bits credited to each pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntropyCounts {
    /// To the input pool.
    pub input: u32,
    /// To the pool of /dev/random.
    pub blocking: u32,
    /// To the pool of /dev/urandom.
    pub nonblocking: u32,
}

/// What the lock protects.
#[derive(Clone)]
pub struct State {
    pub input: Pool<128>,
    blocking: Pool<32>,
    nonblocking: Pool<32>,
    estimator: Estimator,
    /// Timer events so far that came while most were dropped.
    trickled: u32,
    pub ints: Ints,
}

impl State {
    /// Pools of zeros with `initial` mixed in.
    pub fn new(initial: &[u8]) -> State {
        let mut state = State {
            input: Pool::input(),
            blocking: Pool::blocking(),
            nonblocking: Pool::nonblocking(),
            estimator: Estimator::default(),
            trickled: 0,
            ints: Ints::default(),
        };
        state.input.mix(initial);
        state.blocking.mix(initial);
        state.nonblocking.mix(initial);
        state
    }

    pub fn add_timer_event(&mut self, jiffies: u32, cycles: u32, num: u32) {
        if self.input.entropy() > TRICKLE_THRESHOLD {
            let number = self.trickled;
            self.trickled = number.wrapping_add(1);
            if !number.is_multiple_of(TRICKLE_EVERY) {
                return;
            }
        }
        for word in [jiffies, cycles, num] {
            self.input.mix(&word.to_le_bytes());
        }
        let credit = self.estimator.estimate(jiffies);
        self.input.credit(credit);
    }

    /// Does the transfers and debits for a read of `bytes` from /dev/urandom.
    pub fn prepare_urandom(&mut self, bytes: usize) {
        transfer(&mut self.input, &mut self.nonblocking, bytes, RESERVED_LEN);
        self.nonblocking.debit(bytes, 0, 0);
    }

    /// Does the transfers and debits for a read of `bytes` from /dev/random; returns how many may be
    /// read.
    pub fn prepare_random(&mut self, bytes: usize) -> usize {
        transfer(&mut self.input, &mut self.blocking, bytes, 0);
        self.blocking.debit(bytes, 0, 0)
    }

    pub fn extract_nonblocking(&mut self) -> [u8; EXTRACT_LEN] {
        self.nonblocking.extract()
    }

    pub fn extract_blocking(&mut self) -> [u8; EXTRACT_LEN] {
        self.blocking.extract()
    }

    pub fn entropy_count(&self) -> EntropyCounts {
        EntropyCounts {
            input: self.input.entropy(),
            blocking: self.blocking.entropy(),
            nonblocking: self.nonblocking.entropy(),
        }
    }
}

/// Moves bytes and credit from `input` to `output` if `output` lacks some of the `wanted` bytes. It
/// moves at least as many as wake a reader, and leaves `reserved` bytes in `input`.
fn transfer(input: &mut Pool<128>, output: &mut Pool<32>, wanted: usize, reserved: usize) {
    if !output.lacks(wanted) {
        return;
    }
    let bytes = wanted.clamp(WAKEUP_LEN, MAX_TRANSFER_LEN);
    let bytes = input.debit(bytes, WAKEUP_LEN, reserved);
    let mut moved = [0; MAX_TRANSFER_LEN];
    let moved = &mut moved[..bytes];
    input.extract_to(moved);
    output.mix(moved);
    output.credit(8 * bytes as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_credit(bits: u32) -> State {
        let mut state = State::new(b"known");
        state.input.set_entropy(bits);
        state
    }

    #[track_caller]
    fn counts(state: &State, input: u32, blocking: u32, nonblocking: u32) {
        let expected = EntropyCounts {
            input,
            blocking,
            nonblocking,
        };
        assert_eq!(state.entropy_count(), expected);
    }

    #[test]
    fn every_pool_begins_with_the_initial_bytes() {
        let state = State::new(b"known");
        let (mut large, mut small) = (Pool::input(), Pool::blocking());
        large.mix(b"known");
        small.mix(b"known");
        assert_eq!(state.input.words(), large.words());
        assert_eq!(state.blocking.words(), small.words());
        assert_eq!(state.nonblocking.words(), small.words());
        counts(&state, 0, 0, 0);
    }

    /// The bits that are credited, the bytes that are read of /dev/random, or else of /dev/urandom; the bytes that
    /// /dev/random allows, and the bits that are left.
    #[test]
    fn transfers() {
        for (credit, read, is_random, allowed, [input, blocking, nonblocking]) in [
            // /dev/urandom needs 8 bytes beyond 16 reserved ones: 192 bits. Then one byte asked for
            // moves 8, of which the one that is read is debited.
            (191, 1, false, 0, [191, 0, 0]),
            (192, 1, false, 0, [128, 0, 56]),
            // Of 30 bytes, 30 - 16 = 14 are moved where 64 are asked for; all are spent at once.
            (8 * 30 + 3, 64, false, 0, [8 * 16 + 3, 0, 0]),
            // /dev/random needs 8 bytes, and there is no reserve.
            (63, 1, true, 0, [63, 0, 0]),
            (64, 1, true, 1, [0, 56, 0]),
            // A transfer moves 128 bytes at most.
            (4096, 1000, true, 128, [4096 - 1024, 0, 0]),
        ] {
            let mut state = with_credit(credit);
            if is_random {
                assert_eq!(state.prepare_random(read), allowed, "{credit}");
            } else {
                state.prepare_urandom(read);
            }
            counts(&state, input, blocking, nonblocking);
        }
    }

    #[test]
    fn what_was_moved_and_not_read_can_be_read() {
        let mut state = with_credit(64);
        assert_eq!([1, 8].map(|bytes| state.prepare_random(bytes)), [1, 7]);
        counts(&state, 0, 0, 0);
    }

    #[test]
    fn nothing_is_transferred_to_a_pool_that_has_enough() {
        let mut state = with_credit(4096);
        state.nonblocking.set_entropy(80);
        state.prepare_urandom(10);
        counts(&state, 4096, 0, 0);
    }

    /// At the threshold nothing is dropped. Above it, the first event is taken and the next 4095
    /// are not.
    #[test]
    fn events_trickle_above_the_threshold() {
        let is_taken = |state: &mut State, num| {
            let before = *state.input.words();
            state.add_timer_event(0, 1, num);
            *state.input.words() != before
        };
        let mut state = with_credit(TRICKLE_THRESHOLD);
        assert!((0..10).all(|num| is_taken(&mut state, num)));
        state.input.set_entropy(TRICKLE_THRESHOLD + 1);
        let taken: Vec<_> = (0..9000).filter(|&num| is_taken(&mut state, num)).collect();
        assert_eq!(taken, [0, 4096, 8192]);
    }

    /// A dropped event is not remembered by the estimator either: at 12 there are 2 jiffies
    /// since 10, d2 = 2 - 10 and d3 = -8 - 10, and fls(1) = 1.
    #[test]
    fn dropped_events_change_nothing() {
        let mut state = with_credit(0);
        state.add_timer_event(10, 0, 0);
        assert_eq!(state.input.entropy(), 3);
        state.input.set_entropy(TRICKLE_THRESHOLD + 1);
        state.trickled = 1;
        state.add_timer_event(11, 0, 0);
        state.input.set_entropy(0);
        state.add_timer_event(12, 0, 0);
        assert_eq!(state.input.entropy(), 1);
    }

    #[test]
    fn a_timer_event_is_twelve_bytes() {
        let (mut state, mut pool) = (State::new(&[]), Pool::input());
        state.add_timer_event(0x0403_0201, 0x0807_0605, 0x0c0b_0a09);
        pool.mix(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(state.input.words(), pool.words());
    }
}
