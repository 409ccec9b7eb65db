//! The x86-64 vectors the ChaCha20 rounds run on.
//!
//! Each type's only constructor is `unsafe`, with the processor's instruction set as its
//! precondition; see [`Lanes`].

use super::rounds::{Lanes, Matrix, Row};
use super::{BLOCK_BYTES, Block};
use core::arch::x86_64::*;

/// Defines a [`Lanes`] type over one x86 vector type.
///
/// `interleave` names the four unpack intrinsics, 32-bit low and high, then 64-bit low and high.
/// `gather` turns four vectors, holding words 0..4, 4..8, 8..12 and 12..16 of one block in each
/// of their 128-bit parts, into those blocks.
macro_rules! x86_lanes {
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

x86_lanes! {
    /// 4 blocks; needs SSE2.
    Xmm(__m128i) = 4 lanes,
    add: _mm_add_epi32,
    xor: _mm_xor_si128,
    rotl: |v, LEFT, RIGHT| _mm_or_si128(_mm_slli_epi32::<LEFT>(v), _mm_srli_epi32::<RIGHT>(v)),
    interleave: _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64,
    gather: |q| q,
}

x86_lanes! {
    /// 8 blocks; needs AVX2.
    Ymm(__m256i) = 8 lanes,
    add: _mm256_add_epi32,
    xor: _mm256_xor_si256,
    rotl: |v, LEFT, RIGHT| {
        _mm256_or_si256(_mm256_slli_epi32::<LEFT>(v), _mm256_srli_epi32::<RIGHT>(v))
    },
    interleave:
        _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64,
    gather: |q| [
        _mm256_permute2x128_si256::<0x20>(q[0], q[1]),
        _mm256_permute2x128_si256::<0x20>(q[2], q[3]),
        _mm256_permute2x128_si256::<0x31>(q[0], q[1]),
        _mm256_permute2x128_si256::<0x31>(q[2], q[3]),
    ],
}

x86_lanes! {
    /// 16 blocks; needs AVX-512F.
    Zmm(__m512i) = 16 lanes,
    add: _mm512_add_epi32,
    xor: _mm512_xor_si512,
    rotl: |v, LEFT, RIGHT| {
        const { assert!(LEFT + RIGHT == 32) };
        _mm512_rol_epi32::<LEFT>(v)
    },
    interleave:
        _mm512_unpacklo_epi32 _mm512_unpackhi_epi32 _mm512_unpacklo_epi64 _mm512_unpackhi_epi64,
    gather: |q| {
        let low_parts = [
            _mm512_shuffle_i32x4::<0x44>(q[0], q[1]),
            _mm512_shuffle_i32x4::<0x44>(q[2], q[3]),
        ];
        let high_parts = [
            _mm512_shuffle_i32x4::<0xee>(q[0], q[1]),
            _mm512_shuffle_i32x4::<0xee>(q[2], q[3]),
        ];
        [
            _mm512_shuffle_i32x4::<0x88>(low_parts[0], low_parts[1]),
            _mm512_shuffle_i32x4::<0xdd>(low_parts[0], low_parts[1]),
            _mm512_shuffle_i32x4::<0x88>(high_parts[0], high_parts[1]),
            _mm512_shuffle_i32x4::<0xdd>(high_parts[0], high_parts[1]),
        ]
    },
}

/// 32 blocks, in two [`Zmm`] whose rounds overlap; needs AVX-512F.
#[derive(Clone, Copy)]
pub(super) struct Pair(Zmm, Zmm);

impl Row<Pair> {
    #[inline(always)]
    fn firsts(self) -> Row<Zmm> {
        Row(self.0.0, self.1.0, self.2.0, self.3.0)
    }

    #[inline(always)]
    fn seconds(self) -> Row<Zmm> {
        Row(self.0.1, self.1.1, self.2.1, self.3.1)
    }
}

impl Lanes for Pair {
    const COUNT: usize = 32;

    type Batch = [Block; 32];
    const ZEROED: Self::Batch = [[0; BLOCK_BYTES]; 32];

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller vouches for the processor.
        let half = unsafe { Zmm::splat(word) };
        Self(half, half)
    }

    #[inline(always)]
    fn add_index(self) -> Self {
        let second = self.1.add_word(Zmm::COUNT as u32);
        Self(self.0.add_index(), second.add_index())
    }

    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        Self(self.0.add(rhs.0), self.1.add(rhs.1))
    }

    #[inline(always)]
    fn xor(self, rhs: Self) -> Self {
        Self(self.0.xor(rhs.0), self.1.xor(rhs.1))
    }

    #[inline(always)]
    fn rotl<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        Self(self.0.rotl::<LEFT, RIGHT>(), self.1.rotl::<LEFT, RIGHT>())
    }

    #[inline(always)]
    fn write(words: Matrix<Self>, blocks: &mut [Block]) {
        let (first, second) = blocks.split_at_mut(Zmm::COUNT);
        let Matrix(a, b, c, d) = words;
        Zmm::write(
            Matrix(a.firsts(), b.firsts(), c.firsts(), d.firsts()),
            first,
        );
        Zmm::write(
            Matrix(a.seconds(), b.seconds(), c.seconds(), d.seconds()),
            second,
        );
    }
}
