//! Ones counted at each of 64 positions at once: counts are kept across words, bit j of all of
//! them in plane j, and words are added by carry-save adders (Harley and Seal), eight at a time.

use multiversion::multiversion;

/// Words that are counted together: eight additions of eight words side by side.
pub(super) const GROUP: usize = 64;

type Lanes = [u64; 8];

/// Planes: counts of up to 2^16 - 1, side by side.
const PLANES: usize = 16;

/// Ones at each position of `words`, which are whole groups, at most 2^19.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt"
))]
pub(super) fn count(words: &[u64]) -> [u64; 64] {
    let (groups, _) = words.as_chunks::<GROUP>();
    sums(groups.iter().copied())
}

/// Ones at each position where `words` differ from `others`, likewise.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt"
))]
pub(super) fn count_differing(words: &[u64], others: &[u64]) -> [u64; 64] {
    let (groups, _) = words.as_chunks::<GROUP>();
    let (others, _) = others.as_chunks::<GROUP>();
    let pairs = groups.iter().zip(others);
    sums(pairs.map(|(group, other)| {
        let mut differing = *group;
        for (word, other) in differing.iter_mut().zip(other) {
            *word ^= other;
        }
        differing
    }))
}

#[inline(always)]
fn sums(groups: impl Iterator<Item = [u64; GROUP]>) -> [u64; 64] {
    let mut planes = [[0; 8]; PLANES];
    for group in groups {
        let (lanes, _) = group.as_chunks::<8>();
        let twos = add(&mut planes[0], &lanes[0], &lanes[1]);
        let more_twos = add(&mut planes[0], &lanes[2], &lanes[3]);
        let fours = add(&mut planes[1], &twos, &more_twos);
        let twos = add(&mut planes[0], &lanes[4], &lanes[5]);
        let more_twos = add(&mut planes[0], &lanes[6], &lanes[7]);
        let more_fours = add(&mut planes[1], &twos, &more_twos);
        let mut carry = add(&mut planes[2], &fours, &more_fours);
        for plane in &mut planes[3..] {
            carry = add_one(plane, &carry);
        }
    }
    flattened(&planes)
}

/// Adds `a` and `b` to `sum`, and gives the carry.
#[inline(always)]
fn add(sum: &mut Lanes, a: &Lanes, b: &Lanes) -> Lanes {
    let mut carry = [0; 8];
    for i in 0..8 {
        let either = sum[i] ^ a[i];
        carry[i] = (sum[i] & a[i]) | (either & b[i]);
        sum[i] = either ^ b[i];
    }
    carry
}

#[inline(always)]
fn add_one(sum: &mut Lanes, a: &Lanes) -> Lanes {
    let mut carry = [0; 8];
    for i in 0..8 {
        carry[i] = sum[i] & a[i];
        sum[i] ^= a[i];
    }
    carry
}

#[inline(always)]
fn flattened(planes: &[Lanes; PLANES]) -> [u64; 64] {
    let mut sums = [0; 64];
    for (plane, weight) in planes.iter().zip(0..) {
        for word in plane {
            for (position, sum) in sums.iter_mut().enumerate() {
                *sum += (word >> position & 1) << weight;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::{count, count_differing};

    #[test]
    fn ones_are_those_counted_one_by_one() {
        let words: [u64; 4096] = std::array::from_fn(|i| squall::u64() | (i as u64 % 3) << 62);
        let (others, words) = words.split_at(1024);
        let at = |word: u64, position: usize| word >> position & 1;
        for position in 0..64 {
            let ones: u64 = words.iter().map(|&word| at(word, position)).sum();
            assert_eq!(count(words)[position], ones);
            let pairs = words[..1024].iter().zip(others);
            let ones = pairs
                .map(|(one, other)| at(one ^ other, position))
                .sum::<u64>();
            assert_eq!(count_differing(&words[..1024], others)[position], ones);
        }
    }

    #[test]
    fn counts_do_not_overflow() {
        assert_eq!(count(&vec![u64::MAX; 40_000]), [40_000; 64]);
    }
}
