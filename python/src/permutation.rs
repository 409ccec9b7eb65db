//! The numbers below a count in an order that a key gives, without keeping them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use squall::hazmat::{Aes256, Keystream, Stores};

use crate::buffer::Writable;
use crate::elements::keystream;

/// Rounds of the permutation's Feistel network.
const ROUNDS: u32 = 10;

/// A permutation of the numbers below `count`, chosen by a key.
///
/// A Feistel network with AES-256 as round function permutes the numbers of an even number of bits. Walking on
/// until a number is below `count` permutes those below it (Black and Rogaway, "Ciphers with Arbitrary Finite
/// Domains", 2002). Such a network is always an even permutation. Where `count` is a power of four there is no walk
/// that changes that, so a bit of the key decides whether 0 and 1 are exchanged first.
struct Permutation {
    keystream: Keystream<Aes256>,
    count: u64,
    /// Bits of each half.
    half: u32,
    exchanges: bool,
}

impl Permutation {
    fn new(key: &[u8], count: u64) -> PyResult<Permutation> {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let mut permutation = Permutation {
            keystream: keystream(key)?,
            count,
            half: bits.div_ceil(2).max(1),
            exchanges: false,
        };
        permutation.exchanges = count.is_power_of_two()
            && count.trailing_zeros().is_multiple_of(2)
            && permutation.output(ROUNDS, 0) % 2 == 1;
        Ok(permutation)
    }

    /// 64 bits for a half of a number in a round; those after the last round are for other purposes.
    fn output(&self, round: u32, half: u64) -> u64 {
        let mut output = [0; 16];
        // Depends on the count too, or the permutations of n and of n + 1 numbers would be nearly the same.
        let input = u128::from(self.count) << 64 | u128::from(round) << 56 | u128::from(half);
        self.keystream.fill(input, &mut output, Stores::Cached);
        u128::from_le_bytes(output) as u64
    }

    /// Where a number below `count` goes.
    fn permute(&self, number: u64) -> u64 {
        let mut number = number;
        if self.exchanges && number < 2 {
            number ^= 1;
        }
        loop {
            number = self.feistel(number);
            if number < self.count {
                return number;
            }
        }
    }

    /// Where a number of `2 * half` bits goes.
    fn feistel(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ (self.output(round, right) & mask));
        }
        left << self.half | right
    }
}

/// Fill a buffer of unsigned integers of 64 bits with the places where `first` and the numbers after it go.
#[pyfunction]
pub fn permute(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    key: &[u8],
    count: u64,
    first: u64,
) -> PyResult<()> {
    let mut buffer = Writable::borrow(buffer)?;
    let end = first.checked_add(buffer.len() as u64 / 8);
    if end.is_none_or(|end| end > count) {
        return Err(PyValueError::new_err("the block is not inside the array"));
    }
    let permutation = Permutation::new(key, count)?;
    buffer.write_detached(py, |bytes| {
        for (number, out) in (first..).zip(bytes.as_chunks_mut::<8>().0) {
            *out = permutation.permute(number).to_ne_bytes();
        }
    });
    Ok(())
}
