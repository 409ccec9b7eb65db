//! The ChaCha20 rounds, written once for any number of blocks side by side.
//!
//! Lane `i` of every vector belongs to block `counter + i`. A [`Lanes`] value can only be made by
//! the `unsafe` [`Lanes::splat`], whose caller vouches for the processor; holding a value is the
//! proof that lets every other operation be safe.
//!
//! Everything here is `#[inline(always)]`, so that it is compiled with the instruction set of the
//! `#[target_feature]` function that calls it.

use super::{BLOCK_BYTES, Block, State};
use crate::secret::wipe;

/// One 32-bit word of each of `COUNT` blocks.
pub(super) trait Lanes: Copy {
    const COUNT: usize;

    /// `COUNT` blocks.
    type Batch: AsMut<[Block]>;
    const ZEROED: Self::Batch;

    /// # Safety
    ///
    /// The processor must have the instructions this type is documented to need.
    unsafe fn splat(word: u32) -> Self;

    /// Adds to each lane its own index.
    fn add_index(self) -> Self;

    fn add(self, rhs: Self) -> Self;
    fn xor(self, rhs: Self) -> Self;

    #[inline(always)]
    fn add_word(self, word: u32) -> Self {
        // SAFETY: `self` proves the processor.
        self.add(unsafe { Self::splat(word) })
    }

    /// Rotates every lane left by `LEFT` bits; `RIGHT` must be `32 - LEFT`.
    fn rotl<const LEFT: i32, const RIGHT: i32>(self) -> Self;

    /// Writes `words`, block after block, little-endian, to exactly `COUNT` blocks.
    fn write(words: Matrix<Self>, blocks: &mut [Block]);
}

/// Four consecutive state words.
#[derive(Clone, Copy)]
pub(super) struct Row<V>(pub(super) V, pub(super) V, pub(super) V, pub(super) V);

impl<V: Lanes> Row<V> {
    /// # Safety
    ///
    /// Same as [`Lanes::splat`].
    #[inline(always)]
    unsafe fn new(words: [u32; 4]) -> Self {
        let [a, b, c, d] = words;
        // SAFETY: the caller vouches for the processor.
        unsafe { Self(V::splat(a), V::splat(b), V::splat(c), V::splat(d)) }
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        let (a, b) = (self, rhs);
        Self(a.0.add(b.0), a.1.add(b.1), a.2.add(b.2), a.3.add(b.3))
    }

    #[inline(always)]
    fn xor(self, rhs: Self) -> Self {
        let (a, b) = (self, rhs);
        Self(a.0.xor(b.0), a.1.xor(b.1), a.2.xor(b.2), a.3.xor(b.3))
    }

    #[inline(always)]
    fn rotl<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        Self(
            self.0.rotl::<LEFT, RIGHT>(),
            self.1.rotl::<LEFT, RIGHT>(),
            self.2.rotl::<LEFT, RIGHT>(),
            self.3.rotl::<LEFT, RIGHT>(),
        )
    }
}

/// The 4 × 4 word states of `V::COUNT` consecutive blocks.
#[derive(Clone, Copy)]
pub(super) struct Matrix<V>(
    pub(super) Row<V>,
    pub(super) Row<V>,
    pub(super) Row<V>,
    pub(super) Row<V>,
);

impl<V: Lanes> Matrix<V> {
    /// The initial states of the blocks from `state`'s counter on.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions `V` needs.
    #[inline(always)]
    pub(super) unsafe fn new(state: &State) -> Self {
        let [a, b, c, d] = *state;
        // SAFETY: the caller vouches for the processor.
        let mut initial = unsafe { Self(Row::new(a), Row::new(b), Row::new(c), Row::new(d)) };
        initial.3.0 = initial.3.0.add_index();
        initial
    }

    /// The initial states of the blocks that come `blocks` later.
    #[inline(always)]
    pub(super) fn skip(mut self, blocks: u32) -> Self {
        self.3.0 = self.3.0.add_word(blocks);
        self
    }

    /// Fills `out` with the keystream of these blocks and the ones that follow.
    #[inline(always)]
    pub(super) fn fill(mut self, out: &mut [u8]) {
        let mut filled = 0;
        let (blocks, _) = out.as_chunks_mut::<BLOCK_BYTES>();
        for batch in blocks.chunks_exact_mut(V::COUNT) {
            V::write(self.block_function(), batch);
            self = self.skip(V::COUNT as u32);
            filled += V::COUNT * BLOCK_BYTES;
        }
        let tail = &mut out[filled..];
        if !tail.is_empty() {
            self.fill_part(tail);
        }
    }

    /// Fills `out`, which is no longer than one batch, by way of a buffer.
    #[inline(always)]
    pub(super) fn fill_part(self, out: &mut [u8]) {
        let mut batch = V::ZEROED;
        V::write(self.block_function(), batch.as_mut());
        out.copy_from_slice(&batch.as_mut().as_flattened()[..out.len()]);
        wipe(batch.as_mut().as_flattened_mut());
    }

    /// RFC 8439 §2.3: twenty rounds, then the initial state added back.
    #[inline(always)]
    fn block_function(self) -> Self {
        let mut words = self;
        for _ in 0..10 {
            words = words.double_round();
        }
        Self(
            words.0.add(self.0),
            words.1.add(self.1),
            words.2.add(self.2),
            words.3.add(self.3),
        )
    }

    /// A column round, then a diagonal round (RFC 8439 §2.3).
    #[inline(always)]
    fn double_round(self) -> Self {
        let Self(a, b, c, d) = self.quarter_rounds();
        let diagonals = Self(
            a,
            Row(b.1, b.2, b.3, b.0),
            Row(c.2, c.3, c.0, c.1),
            Row(d.3, d.0, d.1, d.2),
        );
        let Self(a, b, c, d) = diagonals.quarter_rounds();
        Self(
            a,
            Row(b.3, b.0, b.1, b.2),
            Row(c.2, c.3, c.0, c.1),
            Row(d.1, d.2, d.3, d.0),
        )
    }

    /// Four quarter rounds (RFC 8439 §2.1), one per column, interleaved step by step.
    #[inline(always)]
    fn quarter_rounds(self) -> Self {
        let Self(a, b, c, d) = self;
        let a = a.add(b);
        let d = d.xor(a).rotl::<16, 16>();
        let c = c.add(d);
        let b = b.xor(c).rotl::<12, 20>();
        let a = a.add(b);
        let d = d.xor(a).rotl::<8, 24>();
        let c = c.add(d);
        let b = b.xor(c).rotl::<7, 25>();
        Self(a, b, c, d)
    }
}

/// One block, without vectors.
#[derive(Clone, Copy)]
pub(super) struct Scalar(u32);

impl Lanes for Scalar {
    const COUNT: usize = 1;

    type Batch = [Block; 1];
    const ZEROED: Self::Batch = [[0; BLOCK_BYTES]; 1];

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        Self(word)
    }

    #[inline(always)]
    fn add_index(self) -> Self {
        self
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        Self(self.0.wrapping_add(rhs.0))
    }

    #[inline(always)]
    fn xor(self, rhs: Self) -> Self {
        Self(self.0 ^ rhs.0)
    }

    #[inline(always)]
    fn rotl<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        Self(self.0.rotate_left(LEFT as u32))
    }

    #[inline(always)]
    fn write(words: Matrix<Self>, blocks: &mut [Block]) {
        let Matrix(a, b, c, d) = words;
        let rows = [a, b, c, d].map(|row| [row.0, row.1, row.2, row.3]);
        let (bytes, _) = blocks.as_flattened_mut().as_chunks_mut::<4>();
        for (bytes, word) in bytes.iter_mut().zip(rows.as_flattened()) {
            *bytes = word.0.to_le_bytes();
        }
    }
}
