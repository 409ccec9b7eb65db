//! Chooses the tenth of a target that is compared.
//!
//! The places are those that NIST SP 800-88 Rev. 1 described in section 4.7.2, before Rev. 2 withdrew it.
//! A target has a thousand subsections. Two samples are taken in each. They do not overlap, and
//! each is a twentieth of the subsection. The first and last bytes are compared too.

use crate::ranges::{Extent, Ranges};

/// The number of subsections of a target that is large enough.
const SUBSECTIONS: u64 = 1000;

/// A sample is this part of its subsection: a twentieth.
const PART: u64 = 20;

/// Samples begin at multiples of this many bytes.
const UNIT: u64 = 4096;

/// The samples of a target of `size` bytes, in order.
pub fn samples(size: u64, mut random: impl FnMut() -> u64) -> Vec<Extent> {
    let subsections = (size / (PART * UNIT)).clamp(1, SUBSECTIONS);
    let mut samples = Ranges::default();
    samples.add(Extent::new(0, UNIT.min(size)));
    for number in 0..subsections {
        let begin = boundary(size, number, subsections);
        let end = boundary(size, number + 1, subsections);
        let middle = (begin + (end - begin) / 2).next_multiple_of(UNIT).min(end);
        let length = ((end - begin) / PART).next_multiple_of(UNIT);
        for half in [begin..middle, middle..end] {
            let length = length.min(half.end - half.start);
            let room = (half.end - half.start - length) / UNIT + 1;
            let start = half.start + below(room, random()) * UNIT;
            samples.add(Extent::new(start, length));
        }
    }
    let last = (size - UNIT.min(size)) / UNIT * UNIT;
    samples.add(Extent::new(last, size - last));
    samples.extents()
}

/// The offset at which subsection `number` of `of` begins.
fn boundary(size: u64, number: u64, of: u64) -> u64 {
    match number == of {
        true => size,
        false => size / of * number / UNIT * UNIT,
    }
}

/// An almost uniform number below `limit` (multiply and shift: the bias is below 2^-30).
fn below(limit: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(limit)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator that gives the same numbers every time.
    fn numbers() -> impl FnMut() -> u64 {
        let mut state = 1_u64;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state
        }
    }

    #[test]
    fn a_tenth_is_sampled_everywhere() {
        for size in [100 << 20, (3 << 30) + 4097, 1 << 42] {
            let samples = samples(size, numbers());
            let all: u64 = samples.iter().map(|s| s.length).sum();
            assert!(all >= size / 10 && all < size / 6, "{size}: {all}");
            assert_eq!(samples[0].offset, 0);
            let last = samples.last().unwrap();
            assert_eq!(last.end(), size);
            let of_a_thousandth = |n: u64| {
                let (from, to) = (size / 1000 * n, size / 1000 * (n + 2));
                samples.iter().any(|s| s.offset >= from && s.offset < to)
            };
            assert!((0..998).all(of_a_thousandth));
            let units = samples.iter().all(|s| s.offset.is_multiple_of(UNIT));
            assert!(units);
        }
    }

    #[test]
    fn small_targets_are_sampled_within_their_length() {
        for size in [1, 511, 4096, 4097, 8191, 81_920, 100_000] {
            let samples = samples(size, numbers());
            let last = samples.last().unwrap();
            assert_eq!((samples[0].offset, last.end()), (0, size));
        }
    }
}
