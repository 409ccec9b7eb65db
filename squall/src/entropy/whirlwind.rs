//! Whirlwind: a random number generator for systems whose state may be copied (A. Everspaugh,
//! Y. Zhai, R. Jellinek, T. Ristenpart, M. Swift: Not-So-Random Numbers in Virtualized Linux and
//! the Whirlwind RNG; IEEE Symposium on Security and Privacy 2014).
//!
//! Inputs of 128 bits wait in buffers, one pair a shard, eight to a buffer. A full buffer is
//! compressed into a seed: nine inputs of ten go to the fast seed, which is in use at once, every
//! tenth to the slow one, of which a copy is put in use every 50 compressions. So a state that
//! became known recovers fast if nobody drew in between, and in leaps too large to be tried out
//! if somebody did. Output is a hash of both seeds, a counter, the cycle counter, the process,
//! the CPU and words of the CPU's random instruction.
//!
//! Where the paper and the code its authors published differ, the fast seed is advanced as in the
//! code: in the critical section that copies it, so that the seed is erased before its output
//! leaves.
//!
//! squall differs from the paper in this: **the slow seed is put in use once after the first 100
//! inputs**, and after each bootstrap. Otherwise it would be the known constant until 4000 inputs
//! were in (the paper says 500, which leaves out that a compression takes eight). Everything is
//! big-endian. No thread waits forever: a lock is taken away from a holder that makes no progress.

#[cfg(feature = "whirlwind-alternatives")]
mod alternatives;
mod functions;
mod lock;
mod message;
mod seed;
mod shard;
mod thread_number;

use core::fmt;
use core::hint::black_box;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "whirlwind-alternatives")]
pub use alternatives::{WithDaviesMeyer, WithSha256};
pub use functions::{Functions, WithSha512};
use lock::LockGuard;
use message::Message;
use seed::{Seed, SeedBytes};
use shard::{Block, Pool, Shard};

use super::machine::{Machine, ThisMachine};
use super::{Accumulator, Input};
use crate::zeroable::Zeroable;
use squall_drbg::internal::registers;

/// One input in this many goes to the slow seed (the paper's d).
const SLOW_EVERY: u64 = 10;

/// The slow seed is put in use after this many compressions into it (the paper's p).
const PUBLISH_EVERY: u64 = 50;

/// Inputs before the slow seed is put in use for the first time.
const FIRST_PUBLISH: u64 = 100;

/// Inputs of a bootstrap, and the maximum number of loop rounds between two of them (the paper's l
/// and l_max).
const BOOTSTRAP_INPUTS: u64 = 100;
const MAX_ROUNDS: u64 = 1024;

/// Shards of an accumulator that threads share: with the seeds, they fit in a page.
const SHARDS: usize = 8;

/// Kinds of input that Whirlwind makes itself; callers use other numbers.
mod source {
    pub const BOOTSTRAP: u32 = 0x5751_0001;
    pub const BOOTSTRAP_END: u32 = 0x5751_0002;
    pub const OUTPUT_BEGIN: u32 = 0x5751_0003;
    pub const OUTPUT_END: u32 = 0x5751_0004;
}

/// The Whirlwind accumulator.
///
/// ```
/// use squall::entropy::Input;
/// use squall::entropy::whirlwind::Whirlwind;
///
/// let whirlwind = <Whirlwind>::default();
/// whirlwind.bootstrap();
/// whirlwind.add(Input::now(1, [4, 2]));
/// let mut bytes = [0; 48];
/// whirlwind.generate(&mut bytes);
/// ```
///
/// Threads can share it; nothing in it allocates or waits forever. A signal handler must not use
/// it if it may have interrupted such use.
///
/// # Security
/// Unpredictable to whoever lacks the low bits of enough cycle counts (SECURITY.md has what a
/// bootstrap collects), whatever else they know or choose. Backtracking resistant: the fast seed
/// is replaced by a one-way function of itself before its output leaves.
///
/// Inputs take effect with the next full buffer: up to 7 inputs per shard and seed wait. `N` is the
/// number of shards: more than one only helps threads that share the accumulator, and an input
/// waits in one of them. Moving the value leaves a copy of its state behind: put it where it stays.
///
/// # Forks and clones
/// A copy of the state, by a fork or a snapshot, has the same seeds: its outputs differ by cycle
/// counter, process and CPU random words only, until it has inputs of its own. Run
/// [`bootstrap`](Whirlwind::bootstrap) in the copy before anything else.
///
/// # Source
/// Everspaugh et al., IEEE S&P 2014, sections V and VI; deviations are in the module's head.
pub struct Whirlwind<F: Functions = WithSha512, M: Machine = ThisMachine, const N: usize = SHARDS> {
    fast: Seed,
    /// Collects inputs; the paper's S'_slow.
    slow: Seed,
    /// The slow seed in use; the paper's S_slow.
    published: Seed,
    /// Compressions into the slow seed.
    slow_compressions: AtomicU64,
    /// Inputs so far.
    inputs: AtomicU64,
    /// Blocks of output so far; the paper's Ctr.
    outputs: AtomicU64,
    shards: [Shard; N],
    machine: M,
    functions: PhantomData<F>,
}

impl<F: Functions, M: Machine + Default, const N: usize> Default for Whirlwind<F, M, N> {
    fn default() -> Self {
        Self::new(M::default())
    }
}

impl<F: Functions, M: Machine, const N: usize> Whirlwind<F, M, N> {
    /// An accumulator without inputs: its outputs are as predictable as `machine` is.
    pub fn new(machine: M) -> Self {
        const { assert!(N > 0, "one shard at least") };
        let whirlwind = Whirlwind {
            fast: Seed::default(),
            slow: Seed::default(),
            published: Seed::default(),
            slow_compressions: AtomicU64::new(0),
            inputs: AtomicU64::new(0),
            outputs: AtomicU64::new(0),
            shards: core::array::from_fn(|_| Shard::default()),
            machine,
            functions: PhantomData,
        };
        whirlwind.start();
        whirlwind
    }

    /// Sets the seeds to their initial constants.
    fn start(&self) {
        let [mut fast, mut slow] = [SeedBytes::zeroed(), SeedBytes::zeroed()];
        F::first_seeds(&mut fast[..F::SEED_LEN], &mut slow[..F::SEED_LEN]);
        self.fast.store(&fast);
        self.slow.store(&slow);
        self.published.store(&slow);
    }

    /// Copies the seeds and counts of `other`, and discards the inputs that wait. For memory that was
    /// zeroed, or that a fork copied: if other threads use it meanwhile, their output is as
    /// unpredictable as `other`'s.
    pub(crate) fn copy_from<const K: usize>(&self, other: &Whirlwind<F, M, K>) {
        let seeds = [&self.fast, &self.slow, &self.published];
        for (seed, other) in seeds
            .into_iter()
            .zip([&other.fast, &other.slow, &other.published])
        {
            seed.copy_from(other);
        }
        for shard in &self.shards {
            shard.wipe();
        }
        let counts = [&self.slow_compressions, &self.inputs, &self.outputs];
        let others = [&other.slow_compressions, &other.inputs, &other.outputs];
        for (count, other) in counts.into_iter().zip(others) {
            count.store(other.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Collects 100 cycle counts between loops of unpredictable length: before first use, and
    /// when the state may have been copied. Takes 0.1 ms (EPYC 9004).
    pub fn bootstrap(&self) {
        let mut mixed = 0u64;
        for i in 0..BOOTSTRAP_INPUTS {
            let cycles = self.machine.noise();
            self.add_now(source::BOOTSTRAP, cycles);
            for j in 0..black_box(cycles % MAX_ROUNDS) {
                mixed = (j / cycles.saturating_add(1)).wrapping_sub(mixed.wrapping_mul(i));
            }
        }
        self.add_now(source::BOOTSTRAP_END, mixed);
        self.publish();
    }

    /// Adds `input` to a buffer; a full buffer, after eight inputs, is compressed into a seed.
    pub fn add(&self, input: Input) {
        let number = self.inputs.fetch_add(1, Ordering::Relaxed);
        let pool = match number % SLOW_EVERY {
            0 => Pool::Slow,
            _ => Pool::Fast,
        };
        let (shard, held) = Shard::lock(&self.shards);
        if shard.append::<F>(pool, &input.to_bytes()) {
            self.compress(pool, shard, held)
        } else {
            drop(held)
        }
        if number + 1 == FIRST_PUBLISH {
            self.publish();
        }
    }

    fn add_now(&self, source: u32, about: u64) {
        self.add(Input::new(source, self.machine.cycles(), about));
    }

    /// Compresses a full buffer of `shard`, whose lock is held until its inputs are moved out.
    #[cold]
    fn compress(&self, pool: Pool, shard: &Shard, held: LockGuard) {
        let _clear = registers::clear_on_return();
        let mut block = Block::zeroed();
        shard.take(pool, &mut block);
        drop(held);
        let block = &block[..F::BLOCK_LEN];
        match pool {
            Pool::Fast => self.fast.compress::<F>(block, |_| {}),
            Pool::Slow => self.slow.compress::<F>(block, |seed| {
                let number = self.slow_compressions.fetch_add(1, Ordering::Relaxed) + 1;
                if number.is_multiple_of(PUBLISH_EVERY) {
                    self.published.store(seed);
                }
            }),
        };
    }

    /// Puts the slow seed in use.
    fn publish(&self) {
        let mut seed = SeedBytes::zeroed();
        self.slow.load(&mut seed);
        self.published.store(&seed);
    }

    /// Fills `out`, of any length. Call [`bootstrap`](Whirlwind::bootstrap) first.
    pub fn generate(&self, out: &mut [u8]) {
        let _clear = registers::clear_on_return();
        let blocks = out.len().div_ceil(F::SEED_LEN) as u64;
        let first = self.outputs.fetch_add(blocks, Ordering::Relaxed);
        self.add_now(source::OUTPUT_BEGIN, 0);
        let mut message = Message::<F>::zeroed();
        message.set_machine(&self.machine);
        message.set_seeds(|fast, slow| {
            self.fast.advance::<F>(fast);
            self.published.load(slow);
        });
        for (number, block) in (first..).zip(out.chunks_mut(F::SEED_LEN)) {
            message.set_counters(number, self.machine.cycles());
            F::hash(message.bytes(), block);
        }
        self.add_now(source::OUTPUT_END, 0);
    }

    /// Erases every secret.
    fn wipe(&self) {
        for seed in [&self.fast, &self.slow, &self.published] {
            seed.wipe();
        }
        for shard in &self.shards {
            shard.wipe();
        }
    }
}

// SAFETY: it consists of atomics and types without bytes; its drop only erases.
unsafe impl Zeroable for Whirlwind {}

impl<F: Functions, M: Machine, const N: usize> Drop for Whirlwind<F, M, N> {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl<F: Functions, M: Machine, const N: usize> Accumulator for Whirlwind<F, M, N> {
    fn add_input(&mut self, input: Input) {
        self.add(input);
    }

    fn generate(&mut self, out: &mut [u8]) {
        Whirlwind::generate(self, out);
    }
}

impl<F: Functions, M: Machine, const N: usize> Accumulator for &Whirlwind<F, M, N> {
    fn add_input(&mut self, input: Input) {
        self.add(input);
    }

    fn generate(&mut self, out: &mut [u8]) {
        Whirlwind::generate(self, out);
    }
}

impl<F: Functions, M: Machine, const N: usize> fmt::Debug for Whirlwind<F, M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whirlwind").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{LazyLock, Mutex};

    use super::functions::MAX_SEED_LEN;
    use super::*;
    use crate::entropy::HARDWARE_LEN;
    use core::mem::MaybeUninit;

    fn fast_seed<M: Machine, const N: usize>(
        whirlwind: &Whirlwind<WithSha512, M, N>,
    ) -> [u8; MAX_SEED_LEN] {
        let mut seed = SeedBytes::zeroed();
        whirlwind.fast.load(&mut seed);
        *seed
    }

    /// The seeds, and which shards hold inputs.
    type Secrets = ([[u8; MAX_SEED_LEN]; 3], [bool; 2]);

    fn secrets(whirlwind: *const Whirlwind<WithSha512, ThisMachine, 2>) -> Secrets {
        // SAFETY: the value's memory: atomics, before and after its drop.
        let whirlwind = unsafe { &*whirlwind };
        let seeds = [&whirlwind.fast, &whirlwind.slow, &whirlwind.published].map(|seed| {
            let mut bytes = SeedBytes::zeroed();
            seed.load(&mut bytes);
            *bytes
        });
        (
            seeds,
            core::array::from_fn(|i| whirlwind.shards[i].is_used()),
        )
    }

    #[test]
    fn dropping_whirlwind_erases_its_seeds_and_inputs() {
        let whirlwind = Whirlwind::<WithSha512, ThisMachine, 2>::default();
        whirlwind.bootstrap();
        let mut place = Box::new(MaybeUninit::new(whirlwind));
        let whirlwind = place.as_mut_ptr();
        let (seeds, waiting) = secrets(whirlwind);
        // SAFETY: the value is dropped once, and its memory read while the box still has it.
        unsafe { whirlwind.drop_in_place() };
        let after = secrets(whirlwind);
        assert!(seeds.iter().all(|seed| *seed != [0; MAX_SEED_LEN]));
        assert!(waiting.contains(&true));
        assert_eq!(after, ([[0; MAX_SEED_LEN]; 3], [false; 2]));
    }

    #[test]
    fn a_copy_has_the_seeds_and_counts_and_no_inputs() {
        let [copy, original] = [(); 2].map(|()| Whirlwind::<WithSha512, ThisMachine, 2>::default());
        for whirlwind in [&copy, &original] {
            whirlwind.bootstrap();
        }
        original.generate(&mut [0; 64]);
        let (seeds, _) = secrets(&raw const original);
        let (other_seeds, waiting) = secrets(&raw const copy);
        assert!(seeds != other_seeds && waiting.contains(&true));
        copy.copy_from(&original);
        assert_eq!(secrets(&raw const copy), (seeds, [false; 2]));
        let counts = [&copy, &original].map(|it| {
            let counts = [&it.slow_compressions, &it.inputs, &it.outputs];
            counts.map(|count| count.load(Ordering::Relaxed))
        });
        assert!(counts[0] == counts[1] && !counts[0].contains(&0));
    }

    /// A second bootstrap, because a first one puts it in use with its hundredth input already.
    #[test]
    fn a_bootstrap_puts_the_slow_seed_in_use() {
        let whirlwind = Whirlwind::<WithSha512, ThisMachine, 2>::default();
        whirlwind.bootstrap();
        let ([_, before, _], _) = secrets(&raw const whirlwind);
        whirlwind.bootstrap();
        let ([_, slow, published], _) = secrets(&raw const whirlwind);
        assert_ne!(slow, before);
        assert_eq!(published, slow);
    }

    #[test]
    fn whirlwind_is_an_accumulator() {
        let mut owned = Whirlwind::<WithSha512>::default();
        let shared = Whirlwind::<WithSha512>::default();
        let initial_seed = fast_seed(&owned);
        for accumulator in [&mut owned as &mut dyn Accumulator, &mut &shared] {
            // More than a buffer holds, so that some have gone into the seed.
            for cycles in 0..100 {
                accumulator.add_input(Input::new(1, cycles, 0));
            }
        }
        for whirlwind in [&owned, &shared] {
            assert_ne!(fast_seed(whirlwind), initial_seed);
        }
        for accumulator in [&mut owned as &mut dyn Accumulator, &mut &shared] {
            let mut out = [0; 64];
            accumulator.generate(&mut out);
            assert_ne!(out, [0; 64]);
        }
    }

    /// A thread that ended in a signal handler still holds its lock: inputs and outputs go on.
    #[test]
    fn a_lock_that_is_never_released_blocks_nothing() {
        let whirlwind = Whirlwind::<WithSha512>::default();
        std::thread::scope(|scope| {
            scope.spawn(|| core::mem::forget(whirlwind.fast.try_lock()));
        });
        let mut seeds = vec![fast_seed(&whirlwind)];
        whirlwind.bootstrap();
        seeds.push(fast_seed(&whirlwind));
        for _ in 0..3 {
            whirlwind.generate(&mut [0; 16]);
            seeds.push(fast_seed(&whirlwind));
        }
        let distinct: std::collections::HashSet<_> = seeds.iter().collect();
        assert_eq!(distinct.len(), seeds.len());
    }

    /// A machine that notes the fast seed at each reading of its cycle counter.
    #[derive(Default)]
    struct Watching;

    static WATCHED: LazyLock<Whirlwind<WithSha512, Watching, 1>> = LazyLock::new(Default::default);
    static NOTED: Mutex<Vec<[u8; MAX_SEED_LEN]>> = Mutex::new(Vec::new());

    impl Machine for Watching {
        fn cycles(&self) -> u64 {
            NOTED.lock().unwrap().push(fast_seed(&WATCHED));
            0
        }
        fn process(&self) -> u32 {
            0
        }
        fn cpu(&self) -> u32 {
            0
        }
        fn random(&self, _: &mut [u8; HARDWARE_LEN]) {}
    }

    #[test]
    fn the_seed_is_erased_before_its_output_is_made() {
        WATCHED.generate(&mut [0; MAX_SEED_LEN]);
        let [before, at_output, after] = NOTED.lock().unwrap()[..] else {
            panic!("the counter is read at the beginning, for a block and at the end")
        };
        assert_ne!(at_output, before);
        assert_eq!(at_output, after);
    }
}
