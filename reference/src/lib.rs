//! What squall computes, to be read from top to bottom: AES (FIPS 197) and CTR_DRBG without derivation function (NIST
//! SP 800-90A Rev. 1, section 10.2.1). `thread.rs` has the rule by which squall serves requests with them.
//!
//! Tests require the same bytes of `squall-drbg` and `squall`. Use it for nothing else: it is slow, its time depends on
//! keys, it wipes nothing, and it notices neither forks nor clones.

use std::array::from_fn;
use std::sync::LazyLock;

mod thread;

pub use thread::{Machine, Thread};

/// AES under a key of 16, 24 or 32 bytes.
pub struct Aes {
    pub round_keys: Vec<[u8; 16]>,
}

impl Aes {
    /// KeyExpansion (FIPS 197 section 5.2).
    pub fn new(key: &[u8]) -> Aes {
        let mut words: Vec<[u8; 4]> = key.as_chunks().0.to_vec();
        let (nk, mut round_constant) = (words.len(), 1);
        for i in nk..4 * (nk + 7) {
            let mut word = words[i - 1];
            if i % nk == 0 {
                word.rotate_left(1);
                word = word.map(sub_byte);
                word[0] ^= round_constant;
                round_constant = times_x(round_constant);
            } else if nk > 6 && i % nk == 4 {
                word = word.map(sub_byte);
            }
            words.push(from_fn(|byte| word[byte] ^ words[i - nk][byte]));
        }
        let round_keys = words.as_flattened().as_chunks().0.to_vec();
        Aes { round_keys }
    }

    /// Cipher (FIPS 197 section 5.1).
    pub fn encrypt(&self, block: [u8; 16]) -> [u8; 16] {
        let last = self.round_keys.len() - 1;
        let mut state = add_round_key(block, &self.round_keys[0]);
        for round in 1..=last {
            state = shift_rows(state.map(sub_byte));
            if round < last {
                state = mix_columns(state);
            }
            state = add_round_key(state, &self.round_keys[round]);
        }
        state
    }

    /// `len` bytes of counter mode: the blocks numbered `first`, `first` + 1, ... modulo 2^128, encrypted.
    pub fn keystream(&self, first: u128, len: usize) -> Vec<u8> {
        let numbers = (0..len.div_ceil(16) as u128).map(|i| first.wrapping_add(i));
        let blocks = numbers.flat_map(|number| self.encrypt(number.to_be_bytes()));
        blocks.take(len).collect()
    }
}

/// SubBytes (FIPS 197 section 5.1.1), of a byte.
pub fn sub_byte(byte: u8) -> u8 {
    static S_BOX: LazyLock<[u8; 256]> = LazyLock::new(|| {
        let inverse = |byte| (0..254).fold(1, |power, _| multiply(power, byte));
        let affine = |byte: u8| (0..5).fold(0x63, |sum, bits| sum ^ byte.rotate_left(bits));
        from_fn(|byte| affine(inverse(byte as u8)))
    });
    S_BOX[usize::from(byte)]
}

/// ShiftRows (FIPS 197 section 5.1.2). Byte r + 4c is in row r and column c of the state.
fn shift_rows(state: [u8; 16]) -> [u8; 16] {
    from_fn(|i| state[(i + 4 * (i % 4)) % 16])
}

/// MixColumns (FIPS 197 section 5.1.3).
fn mix_columns(state: [u8; 16]) -> [u8; 16] {
    from_fn(|i| {
        let [a, b, c, d] = from_fn(|rows| state[i / 4 * 4 + (i + rows) % 4]);
        times_x(a) ^ times_x(b) ^ b ^ c ^ d
    })
}

/// AddRoundKey (FIPS 197 section 5.1.4).
fn add_round_key(state: [u8; 16], key: &[u8; 16]) -> [u8; 16] {
    from_fn(|i| state[i] ^ key[i])
}

/// Multiplication in GF(2^8) (FIPS 197 section 4.2).
fn multiply(a: u8, b: u8) -> u8 {
    let add = |sum, bit: u8| times_x(sum) ^ if b >> bit & 1 == 1 { a } else { 0 };
    (0..8).rev().fold(0, add)
}

/// Multiplication by x (FIPS 197 section 4.2.1).
fn times_x(byte: u8) -> u8 {
    byte << 1 ^ if byte >> 7 == 1 { 0x1b } else { 0 }
}

/// Longest request, in bytes: 2^19 bits (SP 800-90A table 3).
pub const MAX_REQUEST: usize = 1 << 16;

/// Most requests between reseeds (SP 800-90A table 3).
pub const RESEED_INTERVAL: u64 = 1 << 48;

/// CTR_DRBG. Its `seedlen` is the length of a key and a block. What the standard forbids gives `None`, and changes nothing.
#[derive(Clone)]
pub struct CtrDrbg {
    pub key: Vec<u8>,
    pub v: u128,
    pub reseed_counter: u64,
}

impl CtrDrbg {
    /// Section 10.2.1.3.1. `personalization` has at most `seedlen` bytes.
    pub fn instantiate(key_len: usize, entropy: &[u8], personalization: &[u8]) -> Option<CtrDrbg> {
        let mut drbg = CtrDrbg::unseeded(key_len);
        drbg.reseed(entropy, personalization)?;
        Some(drbg)
    }

    /// The state with which an instantiation begins.
    pub fn unseeded(key_len: usize) -> CtrDrbg {
        CtrDrbg {
            key: vec![0; key_len],
            v: 0,
            reseed_counter: 1,
        }
    }

    /// Section 10.2.1.4.1. `entropy` has `seedlen` bytes, `additional` at most as many.
    pub fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Option<()> {
        let additional = self.padded(additional)?;
        if entropy.len() != additional.len() {
            return None;
        }
        self.update(&xor(entropy, &additional));
        self.reseed_counter = 1;
        Some(())
    }

    /// Section 10.2.1.5.1. `additional` has at most `seedlen` bytes.
    pub fn generate(&mut self, len: usize, additional: &[u8]) -> Option<Vec<u8>> {
        let input = self.padded(additional)?;
        if len > MAX_REQUEST || self.reseed_counter > RESEED_INTERVAL {
            return None;
        }
        if !additional.is_empty() {
            self.update(&input);
        }
        let output = self.blocks(len);
        self.update(&input);
        self.reseed_counter += 1;
        Some(output)
    }

    /// CTR_DRBG_Update, section 10.2.1.2.
    pub fn update(&mut self, provided_data: &[u8]) {
        let temp = xor(&self.blocks(provided_data.len()), provided_data);
        let (key, v) = temp.split_at(self.key.len());
        self.key = key.to_vec();
        self.v = u128::from_be_bytes(v.try_into().expect("V is a block"));
    }

    /// Blocks of output, cut to `len` bytes: V is incremented before each.
    fn blocks(&mut self, len: usize) -> Vec<u8> {
        let first = self.v.wrapping_add(1);
        self.v = self.v.wrapping_add(len.div_ceil(16) as u128);
        Aes::new(&self.key).keystream(first, len)
    }

    /// The input and zeros behind it, together `seedlen` bytes.
    fn padded(&self, input: &[u8]) -> Option<Vec<u8>> {
        let zeros = (self.key.len() + 16).checked_sub(input.len())?;
        Some([input, &vec![0; zeros]].concat())
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}
