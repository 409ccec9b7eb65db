//! SHA-256 and SHA-512 as FIPS 180-4 writes them, constants from the roots of primes.

use std::sync::LazyLock;

use crate::suite::{Test, tests};

/// Of the first 64 bits of cube roots and square roots of primes, as many as SHA-512 needs.
static CUBE_ROOTS: LazyLock<Vec<u64>> = LazyLock::new(|| roots(80, 3));
static SQUARE_ROOTS: LazyLock<Vec<u64>> = LazyLock::new(|| roots(8, 2));

fn roots(count: usize, degree: u32) -> Vec<u64> {
    primes()
        .take(count)
        .map(|prime| fraction_of_root(prime, degree))
        .collect()
}

fn primes() -> impl Iterator<Item = u128> {
    (2u128..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
}

/// The first 64 bits of the fractional part of the `degree`-th root of `n`.
fn fraction_of_root(n: u128, degree: u32) -> u64 {
    // The root times 2^64, bit by bit, compared in numbers of several words.
    let mut root = 0u128;
    for bit in (0..68).rev() {
        let candidate = root | 1 << bit;
        if power(candidate, degree) <= shifted(n, 64 * degree) {
            root = candidate;
        }
    }
    root as u64
}

/// Numbers of 32-bit digits, the highest first, all of the same length.
type Digits = [u64; 10];

fn power(base: u128, exponent: u32) -> Digits {
    let digit = |i: u32| (base >> (32 * i)) as u64 & 0xffff_ffff;
    let mut product = [0; 10];
    product[9] = 1;
    for _ in 0..exponent {
        let mut next = [0u128; 10];
        for (i, &a) in product.iter().enumerate() {
            for j in 0..4 {
                if let Some(place) = i.checked_sub(j as usize) {
                    next[place] += u128::from(a) * u128::from(digit(j));
                }
            }
        }
        let mut carry = 0;
        for i in (0..10).rev() {
            let sum = next[i] + carry;
            product[i] = (sum & 0xffff_ffff) as u64;
            carry = sum >> 32;
        }
    }
    product
}

fn shifted(n: u128, bits: u32) -> Digits {
    let mut digits = [0; 10];
    digits[9 - bits as usize / 32] = n as u64;
    digits
}

macro_rules! sha2 {
    ($hash:ident, $compress:ident, $word:ty, $rounds:literal, $len:ty, $s:expr) => {
        /// One block into a chaining value, both as big-endian bytes.
        pub fn $compress(state: &[u8], block: &[u8]) -> Vec<u8> {
            const BITS: u32 = <$word>::BITS;
            let words = |bytes: &[u8]| -> Vec<$word> {
                bytes
                    .chunks(BITS as usize / 8)
                    .map(|word| <$word>::from_be_bytes(word.try_into().unwrap()))
                    .collect()
            };
            let [s0, s1, s2, s3]: [[u32; 3]; 4] = $s;
            // The last of the small sigmas' numbers is a shift.
            let big = |x: $word, r: [u32; 3]| {
                x.rotate_right(r[0]) ^ x.rotate_right(r[1]) ^ x.rotate_right(r[2])
            };
            let small =
                |x: $word, r: [u32; 3]| x.rotate_right(r[0]) ^ x.rotate_right(r[1]) ^ (x >> r[2]);
            let mut w = words(block);
            for t in 16..$rounds {
                let word = small(w[t - 2], s3)
                    .wrapping_add(w[t - 7])
                    .wrapping_add(small(w[t - 15], s2))
                    .wrapping_add(w[t - 16]);
                w.push(word);
            }
            let start = words(state);
            let mut v: [$word; 8] = start.clone().try_into().unwrap();
            for (word, root) in w.into_iter().zip(CUBE_ROOTS.iter()) {
                let [a, b, c, d, e, f, g, h] = v;
                let constant = (root >> (64 - BITS)) as $word;
                let t1 = h
                    .wrapping_add(big(e, s1))
                    .wrapping_add((e & f) ^ (!e & g))
                    .wrapping_add(constant)
                    .wrapping_add(word);
                let t2 = big(a, s0).wrapping_add((a & b) ^ (a & c) ^ (b & c));
                v = [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g];
            }
            let sums = start.iter().zip(v).map(|(a, b)| a.wrapping_add(b));
            sums.flat_map(|word| word.to_be_bytes()).collect()
        }

        pub fn $hash(message: &[u8]) -> Vec<u8> {
            const BLOCK: usize = 2 * <$word>::BITS as usize;
            let mut padded = message.to_vec();
            padded.push(0x80);
            while (padded.len() + size_of::<$len>()) % BLOCK != 0 {
                padded.push(0);
            }
            padded.extend((8 * message.len() as $len).to_be_bytes());
            let mut state: Vec<u8> = SQUARE_ROOTS
                .iter()
                .flat_map(|root| ((root >> (64 - <$word>::BITS)) as $word).to_be_bytes())
                .collect();
            for block in padded.chunks(BLOCK) {
                state = $compress(&state, block);
            }
            state
        }
    };
}

// The rotations of the large sigmas 0 and 1 and the small ones (FIPS 180-4 section 4.1).
sha2!(
    sha256,
    sha256_compress,
    u32,
    64,
    u64,
    [[2, 13, 22], [6, 11, 25], [7, 18, 3], [17, 19, 10]]
);
sha2!(
    sha512,
    sha512_compress,
    u64,
    80,
    u128,
    [[28, 34, 39], [14, 18, 41], [1, 8, 7], [19, 61, 6]]
);

fn hashes_are_the_standard_ones() {
    use sha2::{Digest, Sha256, Sha512};
    for len in [0, 1, 55, 56, 63, 64, 111, 112, 128, 300] {
        let message: Vec<u8> = (0..len).map(|i| i as u8).collect();
        assert_eq!(sha256(&message), Sha256::digest(&message).to_vec());
        assert_eq!(sha512(&message), Sha512::digest(&message).to_vec());
    }
}

pub const TESTS: &[Test<fn()>] = tests![hashes_are_the_standard_ones,];
