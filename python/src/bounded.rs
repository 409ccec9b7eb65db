//! Integers within bounds, the same as `numpy.random.Generator.integers` makes of the words of a bit generator.
//!
//! Source: D. Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019), algorithm 5, with
//! words of 32 bits for ranges that fit into them, as NumPy has it (random/src/distributions/distributions.c,
//! `random_bounded_uint64_fill`).

use crate::bit_generator::Words;

/// Fills `out`, 64-bit integers in the machine's byte order, with numbers from `low` to `low + width`.
pub fn fill(words: &mut impl Words, low: i64, width: u64, out: &mut [u8]) {
    let places = out.as_chunks_mut::<8>().0.iter_mut();
    // Lower halves of products below 2^32 or 2^64 modulo the bound are rejected.
    let at = |distance: u64| (low as u64).wrapping_add(distance).to_ne_bytes();
    match (u32::try_from(width), width.checked_add(1)) {
        (Ok(0), _) => places.for_each(|place| *place = at(0)),
        (Ok(u32::MAX), _) => places.for_each(|place| *place = at(words.next_u32().into())),
        (Ok(width), _) => {
            let bound = width + 1;
            let surplus = bound.wrapping_neg() % bound;
            places.for_each(|place| {
                *place = at(loop {
                    let product = u64::from(words.next_u32()) * u64::from(bound);
                    if product as u32 >= surplus {
                        break product >> 32;
                    }
                });
            });
        }
        (Err(_), None) => places.for_each(|place| *place = at(words.next_u64())),
        (Err(_), Some(bound)) => {
            let surplus = bound.wrapping_neg() % bound;
            places.for_each(|place| {
                *place = at(loop {
                    let product = u128::from(words.next_u64()) * u128::from(bound);
                    if product as u64 >= surplus {
                        break (product >> 64) as u64;
                    }
                });
            });
        }
    }
}
