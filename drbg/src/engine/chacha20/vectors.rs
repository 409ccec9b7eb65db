//! Vectors of four or more words that the ChaCha20 rounds run on, defined by a handful of instructions.
//!
//! Each type's only constructor is `unsafe`, with the processor's instruction set as its
//! precondition; see [`Lanes`](super::rounds::Lanes).

/// Defines a [`Lanes`] type over a vector type of the CPU.
///
/// `interleave` names four functions that interleave the words of two vectors, those of their low and
/// of their high halves: of 32 bits, then of 64.
/// `gather` turns four vectors, holding words 0..4, 4..8, 8..12 and 12..16 of one block in each
/// of their 128-bit parts, into those blocks.
macro_rules! vector_lanes {
    (
        $(#[$doc:meta])* $name:ident($vector:ty) = $count:literal lanes,
        add: $add:ident,
        xor: $xor:ident,
        rotl: |$v:ident, $left:ident, $right:ident| $rotl:expr,
        interleave: $low32:ident $high32:ident $low64:ident $high64:ident,
        gather: |$q:ident| $gather:expr,
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name($vector);

        impl $name {
            /// # Safety
            ///
            /// As [`Lanes::splat`].
            #[inline(always)]
            unsafe fn new(words: [u32; $count]) -> Self {
                // SAFETY: both are plain words of the same size; the caller vouches for the
                // processor.
                Self(unsafe { core::mem::transmute::<[u32; $count], $vector>(words) })
            }

            /// Makes the four words of a row adjacent: vector `j` of the result holds, in each
            /// 128-bit part `p`, the row's words of block `4 * p + j`.
            #[inline(always)]
            fn transpose(row: Row<Self>) -> Row<Self> {
                let Row(Self(a), Self(b), Self(c), Self(d)) = row;
                // SAFETY: the row's vectors prove the processor.
                unsafe {
                    let (ab_low, ab_high) = ($low32(a, b), $high32(a, b));
                    let (cd_low, cd_high) = ($low32(c, d), $high32(c, d));
                    Row(
                        Self($low64(ab_low, cd_low)),
                        Self($high64(ab_low, cd_low)),
                        Self($low64(ab_high, cd_high)),
                        Self($high64(ab_high, cd_high)),
                    )
                }
            }

            /// Writes blocks `j`, `j + 4`, ... from vector `j` of each transposed row.
            #[inline(always)]
            fn write_every_fourth(quad: Row<Self>, blocks: &mut [Block], j: usize) {
                let $q = [quad.0.0, quad.1.0, quad.2.0, quad.3.0];
                // SAFETY: `quad` proves the processor; the vectors gathered and the blocks are
                // plain bytes of the same size.
                let gathered: [Block; $count / 4] = unsafe { core::mem::transmute($gather) };
                for part in 0..$count / 4 {
                    blocks[4 * part + j] = gathered[part];
                }
            }
        }

        impl Lanes for $name {
            const COUNT: usize = $count;

            type Batch = [Block; $count];
            const ZEROED: Self::Batch = [[0; BLOCK_BYTES]; $count];

            #[inline(always)]
            unsafe fn splat(word: u32) -> Self {
                // SAFETY: the caller vouches for the processor.
                unsafe { Self::new([word; $count]) }
            }

            #[inline(always)]
            fn add_index(self) -> Self {
                // SAFETY: `self` proves the processor.
                self.add(unsafe { Self::new(core::array::from_fn(|i| i as u32)) })
            }

            #[inline(always)]
            fn add(self, rhs: Self) -> Self {
                // SAFETY: `self` proves the processor.
                Self(unsafe { $add(self.0, rhs.0) })
            }

            #[inline(always)]
            fn xor(self, rhs: Self) -> Self {
                // SAFETY: `self` proves the processor.
                Self(unsafe { $xor(self.0, rhs.0) })
            }

            #[inline(always)]
            fn rotl<const $left: i32, const $right: i32>(self) -> Self {
                let $v = self.0;
                // SAFETY: `self` proves the processor.
                Self(unsafe { $rotl })
            }

            #[inline(always)]
            fn write(words: Matrix<Self>, blocks: &mut [Block]) {
                assert!(blocks.len() == Self::COUNT);
                let (a, b) = (Self::transpose(words.0), Self::transpose(words.1));
                let (c, d) = (Self::transpose(words.2), Self::transpose(words.3));
                Self::write_every_fourth(Row(a.0, b.0, c.0, d.0), blocks, 0);
                Self::write_every_fourth(Row(a.1, b.1, c.1, d.1), blocks, 1);
                Self::write_every_fourth(Row(a.2, b.2, c.2, d.2), blocks, 2);
                Self::write_every_fourth(Row(a.3, b.3, c.3, d.3), blocks, 3);
            }
        }
    };
}
pub(super) use vector_lanes;
