//! The aarch64 vectors the ChaCha20 rounds run on.

use super::rounds::{Lanes, Matrix, Row};
use super::vectors::vector_lanes;
use super::{BLOCK_BYTES, Block};
use core::arch::aarch64::*;

vector_lanes! {
    /// 4 blocks; NEON is part of aarch64.
    Neon(uint32x4_t) = 4 lanes,
    add: vaddq_u32,
    xor: veorq_u32,
    rotl: |v, LEFT, RIGHT| {
        const { assert!(LEFT + RIGHT == 32) };
        if LEFT == 16 {
            vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(v)))
        } else {
            vsriq_n_u32::<RIGHT>(vshlq_n_u32::<LEFT>(v), v)
        }
    },
    interleave: vzip1q_u32 vzip2q_u32 low_halves high_halves,
    gather: |q| q,
}

#[inline]
#[target_feature(enable = "neon")]
fn low_halves(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vreinterpretq_u32_u64(vzip1q_u64(
        vreinterpretq_u64_u32(a),
        vreinterpretq_u64_u32(b),
    ))
}

#[inline]
#[target_feature(enable = "neon")]
fn high_halves(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vreinterpretq_u32_u64(vzip2q_u64(
        vreinterpretq_u64_u32(a),
        vreinterpretq_u64_u32(b),
    ))
}
