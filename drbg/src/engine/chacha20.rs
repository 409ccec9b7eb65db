//! The ChaCha20 keystream of RFC 8439: 256-bit key, 96-bit nonce, 32-bit block counter.
//!
//! Promises: every [`Width`] writes the same bytes for the same key, nonce and counter, as §2.3
//! and §2.4 define them; the time taken depends on the length asked for and never on the key, the
//! nonce or the keystream; nothing is allocated; the block state, any buffered keystream and what the
//! compiler spilled from registers are wiped before [`keystream`] returns.
//!
//! Must never: let the block counter wrap inside a call (that would repeat keystream), run
//! instructions the processor was not found to have, or write outside the caller's slice.

#[cfg(target_arch = "aarch64")]
mod neon;
mod rounds;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use crate::cpuid::{Features, has};
#[cfg(target_arch = "aarch64")]
use neon::Neon;
use rounds::{Matrix, Scalar};
#[cfg(target_arch = "x86_64")]
use x86::{Pair, Xmm, Ymm, Zmm};
use zeroize::Zeroizing;

use crate::secret::wiping_stack;

/// Bytes in one keystream block (RFC 8439 §2.3).
pub(crate) const BLOCK_BYTES: usize = 64;

type Block = [u8; BLOCK_BYTES];

/// The block function's input (RFC 8439 §2.3): a row of constants, two of key, and one of the
/// block counter and the nonce.
type State = [[u32; 4]; 4];

/// "expand 32-byte k" (RFC 8439 §2.3).
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Fills `out` with the ChaCha20 keystream of (`key`, `nonce`) from block `counter` on, using the
/// widest vectors this processor has.
///
/// # Panics
///
/// If `out` reaches past block 2³² − 1, the last that a 32-bit block counter can number.
pub(crate) fn keystream(key: &[u8; 32], nonce: &[u8; 12], counter: u32, out: &mut [u8]) {
    /// Bytes of stack to wipe: vectors that do not fit into registers are spilled there.
    const STACK: usize = if cfg!(debug_assertions) { 8 } else { 4 } << 10;
    wiping_stack::<STACK>(|| Width::widest().keystream(key, nonce, counter, out));
}

/// How many blocks are computed side by side, and with which instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 16 blocks with AVX-512F, two such batches interleaved when the request is long enough; 4 or
    /// 8 blocks with AVX-512VL when it is short.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 8 blocks with AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 4 blocks, on any x86-64 processor.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// 4 blocks, on any aarch64 processor.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// 1 block, on any processor.
    Scalar,
}

impl Width {
    /// Every width compiled in, widest first.
    pub const ALL: &[Self] = &[
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Sse2,
        #[cfg(target_arch = "aarch64")]
        Self::Neon,
        Self::Scalar,
    ];

    /// Whether this processor has the instructions this width needs.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => has(Features::AVX512F.and(Features::AVX512VL)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => has(Features::AVX2),
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => true,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            Self::Scalar => true,
        }
    }

    /// The widest available width.
    pub(crate) fn widest() -> Self {
        let found = Self::ALL.iter().find(|width| width.is_available());
        found.copied().unwrap_or(Self::Scalar)
    }

    /// Same as [`keystream`], at this width. A lone block is always computed by [`Self::Scalar`],
    /// which has the lowest latency.
    ///
    /// # Panics
    ///
    /// If [`keystream`] would panic, or if this width is not [available](Self::is_available).
    pub fn keystream(self, key: &[u8; 32], nonce: &[u8; 12], counter: u32, out: &mut [u8]) {
        let blocks = out.len().div_ceil(BLOCK_BYTES) as u64;
        assert!(
            blocks <= (1 << 32) - u64::from(counter),
            "ChaCha20 block counter exhausted"
        );
        assert!(self.is_available(), "{self:?} is not available here");
        let state = Zeroizing::new(initial_state(key, nonce, counter));
        if blocks == 1 {
            // SAFETY: `Scalar` needs no instruction set extension.
            return unsafe { Matrix::<Scalar>::new(&state) }.fill_part(out);
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `is_available` found AVX-512F and AVX-512VL.
            Self::Avx512 => unsafe { fill_avx512(&state, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `is_available` found AVX2.
            Self::Avx2 => unsafe { fill_avx2(&state, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: SSE2 is part of x86-64.
            Self::Sse2 => unsafe { Matrix::<Xmm>::new(&state) }.fill(out),
            #[cfg(target_arch = "aarch64")]
            // SAFETY: NEON is part of aarch64.
            Self::Neon => unsafe { Matrix::<Neon>::new(&state) }.fill(out),
            // SAFETY: `Scalar` needs no instruction set extension.
            Self::Scalar => unsafe { Matrix::<Scalar>::new(&state) }.fill(out),
        }
    }
}

fn initial_state(key: &[u8; 32], nonce: &[u8; 12], counter: u32) -> State {
    let mut state = [CONSTANTS, [0; 4], [0; 4], [counter, 0, 0, 0]];
    read_words(key, state[1..3].as_flattened_mut());
    read_words(nonce, &mut state[3][1..]);
    state
}

fn read_words(bytes: &[u8], words: &mut [u32]) {
    for (bytes, word) in bytes.as_chunks().0.iter().zip(words) {
        *word = u32::from_le_bytes(*bytes);
    }
}

/// Long requests go 32 blocks at a time; what is left takes the narrowest batch that holds it,
/// because narrower vectors have the lower latency.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn fill_avx512(state: &State, out: &mut [u8]) {
    const PAIR_BYTES: usize = 32 * BLOCK_BYTES;
    let (bulk, rest) = out.split_at_mut(out.len() / PAIR_BYTES * PAIR_BYTES);
    if !bulk.is_empty() {
        // SAFETY: AVX-512F is enabled here.
        unsafe { Matrix::<Pair>::new(state) }.fill(bulk);
    }
    let done = (bulk.len() / BLOCK_BYTES) as u32;
    match rest.len().div_ceil(BLOCK_BYTES) {
        0 => {}
        // SAFETY: SSE2 is part of x86-64.
        1..=4 => unsafe { Matrix::<Xmm>::new(state) }.skip(done).fill(rest),
        // SAFETY: AVX2 is implied by the features enabled here.
        5..=8 => unsafe { Matrix::<Ymm>::new(state) }.skip(done).fill(rest),
        // SAFETY: AVX-512F is enabled here.
        _ => unsafe { Matrix::<Zmm>::new(state) }.skip(done).fill(rest),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(state: &State, out: &mut [u8]) {
    // SAFETY: AVX2 is enabled here.
    unsafe { Matrix::<Ymm>::new(state) }.fill(out);
}
