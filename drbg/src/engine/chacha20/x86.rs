//! The x86-64 vectors the ChaCha20 rounds run on.

use super::rounds::{Lanes, Matrix, Row};
use super::vectors::vector_lanes;
use super::{BLOCK_BYTES, Block};
use core::arch::x86_64::*;

vector_lanes! {
    /// 4 blocks; needs SSE2.
    Xmm(__m128i) = 4 lanes,
    add: _mm_add_epi32,
    xor: _mm_xor_si128,
    rotl: |v, LEFT, RIGHT| _mm_or_si128(_mm_slli_epi32::<LEFT>(v), _mm_srli_epi32::<RIGHT>(v)),
    interleave: _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64,
    gather: |q| q,
}

vector_lanes! {
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

vector_lanes! {
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
