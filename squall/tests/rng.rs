//! The public functions: each returns as many bytes as were asked for, none outside the buffer,
//! none twice, and with the statistics of chance; `Rng` implements the `rand` crates' traits.
//!
//! Statistics cannot prove a generator good; they catch a broken path: a buffer that was not
//! written, a mask, a repeated block. Sources broken in these ways show that they do.

use std::collections::HashSet;
use std::hash::Hash;
use std::mem::MaybeUninit;
use std::slice;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use squall::Rng;

use crate::common::guarded::Guarded;
use crate::suite::{Test, tests};

type Fill = fn(&mut [u8]);

/// Every way to have a slice filled.
const FILLS: [(&str, Fill); 6] = [
    ("fill", squall::fill),
    ("try_fill", |out| squall::try_fill(out).unwrap()),
    ("fill_fresh", squall::fill_fresh),
    ("fill_uninit", |out| {
        let uninitialised = out.as_mut_ptr().cast::<MaybeUninit<u8>>();
        // SAFETY: the same slice, and nothing but bytes is written to it.
        squall::fill_uninit(unsafe { slice::from_raw_parts_mut(uninitialised, out.len()) });
    }),
    ("bytes", |out| {
        out.copy_from_slice(&squall::bytes(out.len()))
    }),
    ("Rng", |out| rand_core::Rng::fill_bytes(&mut Rng, out)),
];

/// Past the longest request that is served from a buffer.
const LONGEST: usize = 700;

fn every_length_is_filled_and_no_more() {
    for (name, fill) in FILLS {
        for len in (0..=LONGEST).chain([4096, 65535, 65536, 65537, 200_000]) {
            let mut guarded = Guarded::new(3 * len, len);
            fill(guarded.buffer());
            assert!(guarded.guards_are_intact(), "{name}, {len} bytes");
        }
    }
}

/// A byte that is not written stays 0; one that is written is 0 eight times in 2^-64 of cases.
fn every_byte_is_written() {
    for (name, fill) in FILLS {
        for len in (0..=LONGEST).chain([4097, 65537]) {
            let mut seen = vec![0; len];
            for _ in 0..8 {
                let mut out = vec![0; len];
                fill(&mut out);
                seen.iter_mut()
                    .zip(out)
                    .for_each(|(seen, byte)| *seen |= byte);
            }
            assert!(!seen.contains(&0), "{name}, {len} bytes");
        }
    }
}

fn whole_blocks(bytes: &[u8]) -> impl Iterator<Item = [u8; 16]> {
    bytes.as_chunks().0.iter().copied()
}

/// Requests of every length, one after the other, until there are `count` blocks.
fn blocks_of_requests(fill: Fill, count: usize) -> Vec<[u8; 16]> {
    let mut blocks = Vec::new();
    let mut lens = (16..=LONGEST).cycle();
    while blocks.len() < count {
        let mut out = vec![0; lens.next().expect("a cycle has no end")];
        fill(&mut out);
        blocks.extend(whole_blocks(&out));
    }
    blocks
}

fn are_distinct<T: Hash + Eq>(values: &[T]) -> bool {
    values.iter().collect::<HashSet<_>>().len() == values.len()
}

/// 2^18 blocks of 128 bits: two are equal by chance in 2^-93 of cases.
fn no_block_comes_twice_in_any_thread() {
    let threads: Vec<_> = [squall::fill as Fill, squall::fill, squall::fill_fresh]
        .into_iter()
        .map(|fill| std::thread::spawn(move || blocks_of_requests(fill, 1 << 16)))
        .collect();
    let mut blocks = blocks_of_requests(squall::fill, 1 << 16);
    for thread in threads {
        blocks.extend(thread.join().unwrap());
    }
    assert!(blocks.len() >= 1 << 18);
    assert!(are_distinct(&blocks));
    blocks.push(blocks[12345]);
    assert!(!are_distinct(&blocks), "the check sees a repeated block");
}

/// 2^12 words of 64 bits: two are equal in 2^-41 of cases.
fn words_and_arrays_do_not_repeat() {
    let words: Vec<u64> = (0..1 << 12).map(|_| squall::u64()).collect();
    assert!(are_distinct(&words));
    let arrays: Vec<[u8; 12]> = (0..1 << 16).map(|_| squall::array()).collect();
    assert!(are_distinct(&arrays));
    let keys: Vec<[u8; 32]> = (0..1024).map(|_| squall::array()).collect();
    assert!(are_distinct(&keys));
    assert_eq!(squall::array(), [0_u8; 0]);
}

fn arrays_of_one_request_differ() {
    let keys: Vec<[u8; 16]> = (0..64).flat_map(|_| squall::arrays::<16, 100>()).collect();
    assert!(are_distinct(&keys));
    assert_eq!(squall::arrays::<0, 3>(), [[0_u8; 0]; 3]);
    assert!(squall::arrays::<16, 0>().is_empty());
}

/// It has no state, which a fork or a clone of the machine could repeat.
fn an_iterator_and_its_clones_differ() {
    let iterator = squall::iter::<16>();
    assert_eq!(size_of_val(&iterator), 0);
    let mut iterators = [iterator.clone(), iterator.clone(), iterator];
    let arrays: Vec<[u8; 16]> = (0..3000).filter_map(|i| iterators[i % 3].next()).collect();
    assert_eq!(arrays.len(), 3000);
    assert!(are_distinct(&arrays));
}

/// Of 2^16 draws of 32 bits, half a pair is equal on average; 12 pairs in 10^-13 of cases.
fn short_words_repeat_as_chance_does() {
    let words: HashSet<u32> = (0..1 << 16).map(|_| squall::u32()).collect();
    assert!(words.len() > (1 << 16) - 12);
}

/// How often each byte came.
struct Histogram([u64; 256]);

/// Chi-square of 255 degrees of freedom is outside of these in 2^-45 of cases on either side
/// (Wilson and Hilferty's approximation).
const CHI_SQUARE: std::ops::RangeInclusive<u64> = 119..=464;

/// A number of ones is farther from its mean than this many standard deviations in 2^-49 of cases.
const DEVIATIONS: u64 = 8;

impl Histogram {
    /// Of `len` bytes, taken in requests whose lengths go round in `requests`.
    fn of(fill: impl Fn(&mut [u8]), len: usize, requests: &[usize]) -> Self {
        let mut bytes = vec![0; len];
        let mut rest = &mut bytes[..];
        let mut requests = requests.iter().cycle();
        while let Some(request) = requests.next().filter(|_| !rest.is_empty()) {
            let taken = rest.split_off_mut(..rest.len().min(*request));
            fill(taken.expect("no longer than the rest"));
        }
        let mut counts = [0; 256];
        for byte in bytes {
            counts[usize::from(byte)] += 1;
        }
        Histogram(counts)
    }

    fn len(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Whether all bytes are equally frequent, neither too exactly nor too little.
    fn bytes_are_even(&self) -> bool {
        let expected = self.len() / 256;
        let squares = self.0.iter().map(|&count| count.abs_diff(expected).pow(2));
        CHI_SQUARE.contains(&(squares.sum::<u64>() / expected))
    }

    /// Whether ones and zeros are equally frequent: n bits have n / 2 ones, with a standard
    /// deviation of the square root of n / 4.
    fn bits_are_even(&self) -> bool {
        let ones_of = |byte: usize| u64::from(byte.count_ones());
        let ones: u64 = (0..256).map(|byte| ones_of(byte) * self.0[byte]).sum();
        let bits = 8 * self.len();
        ones.abs_diff(bits / 2).pow(2) <= DEVIATIONS.pow(2) * bits / 4
    }

    fn is_even(&self) -> bool {
        self.bytes_are_even() && self.bits_are_even()
    }
}

fn long_requests_are_statistically_even() {
    assert!(Histogram::of(squall::fill, 64 << 20, &[20 << 20, 65536]).is_even());
}

fn short_requests_are_statistically_even() {
    let requests: Vec<usize> = (1..=LONGEST).collect();
    assert!(Histogram::of(squall::fill, 16 << 20, &requests).is_even());
    assert!(Histogram::of(squall::fill_fresh, 4 << 20, &[1000]).is_even());
    let words = |out: &mut [u8]| out.copy_from_slice(&squall::u64().to_ne_bytes());
    assert!(Histogram::of(words, 4 << 20, &[8]).is_even());
    let words = |out: &mut [u8]| out.copy_from_slice(&squall::u32().to_ne_bytes());
    assert!(Histogram::of(words, 4 << 20, &[4]).is_even());
}

fn broken_sources_are_not_even() {
    let len = 4 << 20;
    let is_even = |break_it: Fill| {
        let broken = |out: &mut [u8]| {
            squall::fill(out);
            break_it(out);
        };
        Histogram::of(broken, len, &[4096]).is_even()
    };
    assert!(is_even(|_| ()), "nothing is broken");
    assert!(
        !is_even(|out| out[..16].fill(0)),
        "one block in 256 is not written"
    );
    assert!(
        !is_even(|out| out.chunks_mut(64).for_each(|o| o[0] |= 4)),
        "a bit in 512 is stuck"
    );
    assert!(
        !is_even(|out| (0..).zip(out).for_each(|(i, o)| *o = (i % 256) as u8)),
        "bytes are exactly even"
    );
}

fn rng_is_a_handle_of_no_size() {
    fn assert_is_handle<T: Copy + Send + Sync + Default + std::fmt::Debug>() {}
    assert_is_handle::<Rng>();
    assert_eq!(size_of::<Rng>(), 0);
}

fn rng_has_the_traits_of_rand_core_0_10() {
    fn draw(rng: &mut impl rand_core::CryptoRng) -> (u32, u64) {
        (rng.next_u32(), rng.next_u64())
    }
    assert_ne!(draw(&mut Rng), draw(&mut Rng));
}

#[cfg(feature = "rand_core_09")]
fn rng_has_the_traits_of_rand_core_0_9() {
    fn draw(rng: &mut impl rand_core_09::CryptoRng) -> (u32, u64) {
        (rng.next_u32(), rng.next_u64())
    }
    assert_ne!(draw(&mut Rng), draw(&mut Rng));
    let mut guarded = Guarded::new(1, 333);
    rand_core_09::RngCore::fill_bytes(&mut Rng, guarded.buffer());
    assert!(guarded.buffer().iter().any(|&byte| byte != 0xa5));
    assert!(guarded.guards_are_intact());
}

fn rng_works_with_rand() {
    let mut seen = [0u32; 6];
    for _ in 0..6000 {
        seen[Rng.random_range(0..6)] += 1;
    }
    // A face is farther than 8 standard deviations (29) from 1000 in 10^-15 of cases.
    assert!(
        seen.iter().all(|face| (768..=1232).contains(face)),
        "{seen:?}"
    );
    let mut cards: Vec<u8> = (0..52).collect();
    cards.shuffle(&mut Rng);
    assert!(!cards.is_sorted());
    cards.sort_unstable();
    assert!(cards.into_iter().eq(0..52));
    let mut seeded = [StdRng::from_rng(&mut Rng), StdRng::from_rng(&mut Rng)];
    assert_ne!(seeded[0].random::<u128>(), seeded[1].random());
}

pub const TESTS: &[Test<fn()>] = tests![
    every_length_is_filled_and_no_more,
    every_byte_is_written,
    no_block_comes_twice_in_any_thread,
    words_and_arrays_do_not_repeat,
    arrays_of_one_request_differ,
    an_iterator_and_its_clones_differ,
    short_words_repeat_as_chance_does,
    long_requests_are_statistically_even,
    short_requests_are_statistically_even,
    broken_sources_are_not_even,
    rng_is_a_handle_of_no_size,
    rng_has_the_traits_of_rand_core_0_10,
    #[cfg(feature = "rand_core_09")]
    rng_has_the_traits_of_rand_core_0_9,
    rng_works_with_rand,
];
