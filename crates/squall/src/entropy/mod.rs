//! Where does a seed come from?
//!
//! A seed is 48 bytes: kernel bytes hedged with the CPU's random instruction and the cycle
//! counter through SHA-512. As long as the kernel's bytes are unpredictable, so is the seed; if
//! a VM clone gets the same kernel bytes as its sibling, the other two still tell them apart.

pub(crate) mod cpu;
mod input;
pub(crate) mod kernel;
mod machine;
pub mod whirlwind;

pub use input::{Accumulator, INPUT_LEN, Input};
pub use machine::{HARDWARE_LEN, Machine, ThisMachine};

use sha2::digest::FixedOutputReset;
use sha2::{Digest, Sha512};

use crate::secret::{Secret, wipe};

/// Length of a seed, in bytes: `seedlen` of CTR_DRBG with AES-256.
pub(crate) const SEED_LEN: usize = 48;

/// A seed, as strong as the kernel's RNG (256 bits), wiped when dropped.
pub(crate) type Seed = Secret<SEED_LEN>;

/// Words of the CPU's random instruction that go into a seed: 256 bits.
const CPU_WORDS: usize = 4;

/// Hedges `kernel_bytes` into `seed`.
pub(crate) fn seed(kernel_bytes: &[u8; SEED_LEN], seed: &mut Seed) {
    let mut hash = Sha512::new();
    hash.update(b"squall seed 1");
    hash.update(kernel_bytes);
    hash.update(cpu::cycles().to_le_bytes());
    for _ in 0..CPU_WORDS {
        hash.update(cpu::random_word().unwrap_or(0).to_le_bytes());
    }
    hash.update(cpu::cycles().to_le_bytes());
    let mut digest = sha2::digest::Output::<Sha512>::default();
    // By reference: a hash that is moved leaves its input behind.
    FixedOutputReset::finalize_into_reset(&mut hash, &mut digest);
    seed.copy_from_slice(&digest[..SEED_LEN]);
    wipe(&mut digest);
}

/// Additional input for a request: the cycle counter and `WORDS` words of the CPU.
///
/// It tells apart what would otherwise be equal, the draws of two VM clones above all; nothing
/// relies on it alone.
pub(crate) fn additional_input<const WORDS: usize>() -> [u64; WORDS] {
    core::array::from_fn(|i| match i {
        0 => cpu::cycles(),
        _ => cpu::random_word().unwrap_or_else(cpu::cycles),
    })
}
