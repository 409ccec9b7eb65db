//! Integers within bounds, the same as `numpy.random.Generator.integers` makes of the words of a bit generator: by
//! words of 32 bits for ranges that fit into them (numpy/random/src/distributions/distributions.c,
//! `random_bounded_uint64_fill`).

use core::convert::Infallible;

use squall::internal::{below_u32, below_u64};

use crate::bit_generator::Words;

/// Fills `out`, 64-bit integers in the machine's byte order, with numbers from `low` to `low + width`.
pub fn fill(words: &mut impl Words, low: i64, width: u64, out: &mut [u8]) {
    let places = out.as_chunks_mut::<8>().0.iter_mut();
    let at = |distance: u64| (low as u64).wrapping_add(distance).to_ne_bytes();
    match (u32::try_from(width), width.checked_add(1)) {
        (Ok(u32::MAX), _) => places.for_each(|place| *place = at(words.next_u32().into())),
        (Ok(width), _) => places.for_each(|place| {
            let Ok(distance) = below_u32(width + 1, || Ok::<_, Infallible>(words.next_u32()));
            *place = at(distance.into());
        }),
        (Err(_), None) => places.for_each(|place| *place = at(words.next_u64())),
        (Err(_), Some(bound)) => places.for_each(|place| {
            let Ok(distance) = below_u64(bound, || Ok::<_, Infallible>(words.next_u64()));
            *place = at(distance);
        }),
    }
}
