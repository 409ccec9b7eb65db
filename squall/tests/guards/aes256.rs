//! AES-256 key expansion (FIPS 197 section 5.2), forwards and backwards.

use squall_reference::{Aes, sub_byte};

/// Words of a key, and of its round keys.
pub const KEY_WORDS: usize = 4;

type Word = [u8; 4];

/// The fifteen round keys of `key`, two words of 64 bits each.
pub fn round_keys(key: &[u64]) -> Vec<u64> {
    let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let round_keys = Aes::new(&bytes).round_keys;
    let words = round_keys.as_flattened().as_chunks().0.iter();
    words.map(|&word| u64::from_ne_bytes(word)).collect()
}

/// The round key behind `first` and `second`, which are round keys `number` and `number + 1`.
pub fn next_round_key(first: u128, second: u128, number: usize) -> u128 {
    let mut words = words_of(first, second).to_vec();
    for i in 8..12 {
        words.push(xor(step(4 * number + i, words[i - 1]), words[i - 8]));
    }
    let next: [u8; 16] = words[8..].as_flattened().try_into().expect("four words");
    u128::from_ne_bytes(next)
}

/// The key whose round keys `number` and `number + 1` are `first` and `second`.
pub fn key_of_round_keys(first: u128, second: u128, number: usize) -> [u8; 32] {
    let mut words = words_of(first, second);
    for base in (0..4 * number).rev() {
        let before = xor(step(base + 8, words[6]), words[7]);
        words.rotate_right(1);
        words[0] = before;
    }
    words.as_flattened().try_into().expect("eight words")
}

fn words_of(first: u128, second: u128) -> [Word; 8] {
    let bytes = [first.to_ne_bytes(), second.to_ne_bytes()];
    let (words, _) = bytes.as_flattened().as_chunks();
    words.try_into().expect("eight words")
}

/// What word `i` of the schedule adds to the one eight before it, made of the one before it.
fn step(i: usize, mut before: Word) -> Word {
    if i.is_multiple_of(8) {
        before.rotate_left(1);
    }
    if i.is_multiple_of(4) {
        before = before.map(sub_byte);
    }
    if i.is_multiple_of(8) {
        before[0] ^= 1 << (i / 8 - 1);
    }
    before
}

fn xor(a: Word, b: Word) -> Word {
    std::array::from_fn(|i| a[i] ^ b[i])
}
