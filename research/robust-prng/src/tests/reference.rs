//! A slow reference generator: polynomials are vectors of bits, processed one coefficient at a time,
//! and AES is the `aes` crate's, one block at a time.
//!
//! It must never call the code under test.

use aes::cipher::{BlockCipherEncrypt, KeyInit};

/// A field F_2^degree.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub degree: usize,
    /// Exponents of the polynomial's terms below x^degree.
    pub taps: &'static [usize],
}

/// The bits of `bytes`, the lowest of each byte first.
pub fn bits(bytes: &[u8]) -> Vec<bool> {
    let bit = |i: usize| bytes[i / 8] >> (i % 8) & 1 == 1;
    (0..8 * bytes.len()).map(bit).collect()
}

/// The bytes of `bits`, with zeros behind them.
pub fn bytes(bits: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rfold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bits.chunks(8).map(byte).collect()
}

/// The product of two polynomials.
pub fn product(a: &[bool], b: &[bool]) -> Vec<bool> {
    let mut product = vec![false; a.len() + b.len()];
    for (i, _) in a.iter().enumerate().filter(|(_, bit)| **bit) {
        for (j, &bit) in b.iter().enumerate() {
            product[i + j] ^= bit;
        }
    }
    product
}

impl Field {
    /// `polynomial` modulo the field's, as `degree` bits.
    pub fn reduce(&self, mut polynomial: Vec<bool>) -> Vec<bool> {
        for i in (self.degree..polynomial.len()).rev() {
            if polynomial[i] {
                for &tap in self.taps {
                    polynomial[i - self.degree + tap] ^= true;
                }
            }
        }
        polynomial.resize(self.degree, false);
        polynomial
    }

    /// The product in the field.
    pub fn multiply(&self, a: &[bool], b: &[bool]) -> Vec<bool> {
        self.reduce(product(a, b))
    }

    /// The first bits of `bytes`, as many as an element has, with zeros behind them.
    fn element(&self, bytes: &[u8]) -> Vec<bool> {
        let mut element = bits(bytes);
        element.resize(self.degree, false);
        element
    }
}

/// The generator.
#[derive(Clone, Debug)]
pub struct SlowRobust {
    field: Field,
    x: Vec<bool>,
    x_prime: Vec<bool>,
    pub state: Vec<bool>,
    /// Number of blocks that were encrypted.
    pub blocks: usize,
}

impl SlowRobust {
    pub fn new(field: Field, x: &[u8], x_prime: &[u8]) -> Self {
        SlowRobust {
            field,
            x: field.element(x),
            x_prime: field.element(x_prime),
            state: vec![false; field.degree],
            blocks: 0,
        }
    }

    pub fn refresh(&mut self, input: &[u8]) {
        self.state = self.field.multiply(&self.state, &self.x);
        for (s, i) in self.state.iter_mut().zip(self.field.element(input)) {
            *s ^= i;
        }
    }

    pub fn next(&mut self) -> [u8; 16] {
        let hashed = self.field.multiply(&self.x_prime, &self.state);
        let key = bytes(&hashed[..128]);
        let cipher = aes::Aes128Enc::new_from_slice(&key).expect("16 bytes");
        let mut keystream = Vec::new();
        for counter in 0u128.. {
            if keystream.len() >= self.field.degree + 128 {
                break;
            }
            let mut block = counter.to_be_bytes().into();
            cipher.encrypt_block(&mut block);
            keystream.extend(bits(&block));
            self.blocks += 1;
        }
        let output = keystream.split_off(self.field.degree);
        self.state = keystream;
        bytes(&output[..128]).try_into().expect("128 bits")
    }
}
