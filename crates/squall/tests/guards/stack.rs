//! Backtracking resistance reaches the stack: no key is left where a request has been, neither
//! the generator's own nor a round key that a kernel had to spill.
//!
//! That rests on secrets being built where they are used, and never moved. Optimised builds keep
//! to it; an unoptimised one moves them, leaves keys, and is this test's control:
//! `cargo test -p squall --all-features --profile dev --test guards -- stack` must fail.

use squall::Engine;
use squall::testing::{KEYS_AT_FOR_TESTING, page_address_for_testing};

use crate::Verdict;

/// Words of the generator's key.
const KEY_WORDS: usize = 4;

/// Words of the round keys of masks.
const MASK_WORDS: usize = 30;

/// Depth that is searched, in words.
const DEPTH: usize = (24 << 10) / 8;

pub fn no_keys_left() -> Verdict {
    for engine in Engine::available() {
        squall::hazmat::use_engine(engine).unwrap();
        if let Some(depth) = key_found_on(engine) {
            return Verdict::Broken(format!("{engine}: a key {depth} bytes below"));
        }
    }
    Verdict::Held
}

/// Draws once, and searches for the key that the draw began with and its round keys.
fn key_found_on(engine: Engine) -> Option<usize> {
    let mut out = Box::new([0; 300]);
    squall::fill(&mut out[..]);
    let [key_at, masks_at] = KEYS_AT_FOR_TESTING;
    let mut needles = words_of_page(key_at, KEY_WORDS);
    if engine != Engine::ChaCha20 {
        needles = round_keys(&needles);
    }
    needles.extend(words_of_page(masks_at, MASK_WORDS));
    prepare_stack();
    squall::fill(&mut out[..16]);
    squall::fill(&mut out[..]);
    find_below(&needles)
}

/// So many words of this thread's page, those at `at`.
pub fn words_of_page(at: usize, words: usize) -> Vec<u64> {
    let page = page_address_for_testing() as *const u64;
    let word = |index| {
        // SAFETY: the page is mapped, and these words are within it.
        unsafe { page.byte_add(at).add(index).read_volatile() }
    };
    (0..words).map(word).collect()
}

/// Makes the stack deep enough to be searched, and quiet: zeros.
#[inline(never)]
fn prepare_stack() {
    std::hint::black_box([0u64; 2 * DEPTH]);
}

/// Searches the stack below for 16 bytes of a key, without calling anything that would write
/// there.
#[inline(never)]
fn find_below(needles: &[u64]) -> Option<usize> {
    let marker = 0u64;
    let here = &raw const marker;
    for depth in 1..DEPTH {
        // SAFETY: the stack is mapped that deep; nothing is written.
        let found = unsafe {
            [
                here.sub(depth).read_volatile(),
                here.sub(depth - 1).read_volatile(),
            ]
        };
        let mut needle = 0;
        while needle < needles.len() {
            if found[0] == needles[needle] && found[1] == needles[needle + 1] {
                return Some(depth * 8);
            }
            needle += 2;
        }
    }
    None
}

/// AES-256 key expansion, slow and obvious (FIPS 197 section 5.2), two words a round key.
fn round_keys(key: &[u64]) -> Vec<u64> {
    let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut words: Vec<[u8; 4]> = bytes.as_chunks().0.to_vec();
    let mut rcon = 1;
    for i in 8..60 {
        let mut last = words[i - 1];
        if i % 8 == 0 {
            last.rotate_left(1);
        }
        if i % 4 == 0 {
            last = last.map(sub_byte);
        }
        if i % 8 == 0 {
            last[0] ^= rcon;
            rcon = multiply(rcon, 2);
        }
        words.push(std::array::from_fn(|byte| last[byte] ^ words[i - 8][byte]));
    }
    words
        .as_flattened()
        .as_chunks()
        .0
        .iter()
        .map(|&word| u64::from_ne_bytes(word))
        .collect()
}

fn sub_byte(byte: u8) -> u8 {
    let inverse = (0..=255)
        .find(|&other| multiply(byte, other) == 1)
        .unwrap_or(0);
    (0..5).fold(0x63, |sum, turn| sum ^ u8::rotate_left(inverse, turn))
}

/// Multiplication in GF(2^8) (FIPS 197 section 4.2).
fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut a) = (0, a);
    for bit in 0..8 {
        if b >> bit & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a >> 7 == 1 { 0x1b } else { 0 };
    }
    product
}
