//! Where does a seed come from?
//!
//! A seed is 48 bytes: kernel bytes hedged with the CPU's random instruction and the cycle
//! counter through SHA-512. As long as the kernel's bytes are unpredictable, so is the seed; if
//! a VM clone gets the same kernel bytes as its sibling, the other two still tell them apart.

pub(crate) mod cpu;
mod health;
mod input;
pub(crate) mod kernel;
mod machine;
pub mod whirlwind;

pub use input::{Accumulator, INPUT_LEN, Input};
pub use machine::{HARDWARE_LEN, Machine, ThisMachine};

use sha2::digest::FixedOutputReset;
use sha2::{Digest, Sha512};

use crate::seam::{self, Seam};
use crate::secret::{Secret, wipe};

/// Length of a seed, in bytes: `seedlen` of CTR_DRBG with AES-256.
pub(crate) const SEED_LEN: usize = 48;

/// A seed, as strong as the kernel's RNG (256 bits), wiped when dropped.
pub(crate) type Seed = Secret<SEED_LEN>;

/// Bytes of an accumulator that go into a seed.
pub(crate) type RootBytes = Secret<64>;

/// Makes a seed of the kernel's bytes and an accumulator's: if either cannot be predicted, nor
/// can the seed.
pub(crate) fn seed(kernel: &[u8; SEED_LEN], root: &RootBytes, seed: &mut Seed) {
    let mut hash = Sha512::new();
    hash.update(b"squall seed 2");
    hash.update(kernel);
    hash.update(&root[..]);
    let mut digest = sha2::digest::Output::<Sha512>::default();
    // By reference: a hash that is moved leaves its input behind.
    FixedOutputReset::finalize_into_reset(&mut hash, &mut digest);
    seed.copy_from_slice(&digest[..SEED_LEN]);
    wipe(&mut digest);
}

/// What stands for an accumulator where there must be no state: cycle counts, and words of the
/// CPU.
pub(crate) fn hedge(bytes: &mut RootBytes) {
    for (place, word) in bytes
        .as_chunks_mut()
        .0
        .iter_mut()
        .zip(additional_input::<8>())
    {
        *place = word.to_le_bytes();
    }
}

/// Additional input for a request: the cycle counter and other words of the CPU.
///
/// It tells apart what would otherwise be equal, the draws of two VM clones above all; nothing
/// relies on it alone.
pub(crate) fn additional_input<const WORDS: usize>() -> [u64; WORDS] {
    if seam::is_off(Seam::AdditionalInput) {
        return [0; WORDS];
    }
    core::array::from_fn(|i| match i {
        0 => cpu::cycles(),
        _ => cpu::random_word().unwrap_or_else(cpu::cycles),
    })
}
