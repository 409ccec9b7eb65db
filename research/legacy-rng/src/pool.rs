//! A pool: words into which bytes are mixed, and a count of credited bits. Output is extracted by SHA-1 over the whole
//! pool, folded to ten bytes. The hash is mixed back in before they are returned, so that the pool does not reveal
//! them afterwards.
//!
//! A byte that is mixed in is rotated, and each word is twisted.

use sha1::block_api::compress;

/// Number of words ahead of the mixing point, besides the next one, that go into each mixed word.
const TAPS: usize = 5;

/// A pool of `WORDS` words, a power of two.
#[derive(Clone)]
pub struct Pool<const WORDS: usize> {
    words: [u32; WORDS],
    taps: [usize; TAPS],
    /// The mixing point: the word that was written last.
    position: usize,
    /// The rotation of the next byte, in bits.
    rotation: u32,
    /// Credited bits.
    entropy: u32,
    /// Whether the pool gives out no more than was credited.
    is_limited: bool,
}

impl Pool<128> {
    /// The input pool: 4096 bits.
    pub fn input() -> Self {
        Self::new([103, 76, 51, 25, 1], true)
    }
}

impl Pool<32> {
    /// The pool of /dev/random: 1024 bits.
    pub fn blocking() -> Self {
        Self::new([26, 20, 14, 7, 1], true)
    }

    /// The pool of /dev/urandom: 1024 bits.
    pub fn nonblocking() -> Self {
        Self::new([26, 20, 14, 7, 1], false)
    }
}

impl<const WORDS: usize> Pool<WORDS> {
    /// Most that can be credited, in bits.
    pub const BITS: u32 = WORDS as u32 * u32::BITS;

    fn new(taps: [usize; TAPS], is_limited: bool) -> Self {
        const { assert!(WORDS.is_power_of_two()) }
        Pool {
            words: [0; WORDS],
            taps,
            position: 0,
            rotation: 0,
            entropy: 0,
            is_limited,
        }
    }

    /// Mixes `bytes` in.
    pub fn mix(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.position = self.position.wrapping_sub(1) % WORDS;
            let mut word = spread(byte, self.rotation) ^ self.words[self.position];
            for tap in self.taps {
                word ^= self.words[(self.position + tap) % WORDS];
            }
            self.words[self.position] = twist(word);
            // Once a round the rotation is twice as far, so that the next round affects other bits.
            let step = if self.position == 0 { 14 } else { 7 };
            self.rotation = (self.rotation + step) % u32::BITS;
        }
    }

    /// The words in order.
    pub fn words(&self) -> &[u32; WORDS] {
        &self.words
    }

    /// The words from the mixing point on backwards: the one written last, then those that will
    /// be written next.
    pub fn words_behind<const COUNT: usize>(&self) -> [u32; COUNT] {
        core::array::from_fn(|i| self.words[self.position.wrapping_sub(i) % WORDS])
    }

    /// Bits credited.
    pub fn entropy(&self) -> u32 {
        self.entropy
    }

    /// Credits `bits`, up to the size of the pool.
    pub fn credit(&mut self, bits: u32) {
        self.entropy = (self.entropy + bits).min(Self::BITS);
    }

    /// Whether `bytes` are more than was credited, and the pool is not full.
    pub fn lacks(&self, bytes: usize) -> bool {
        self.entropy < Self::BITS && (self.entropy as usize) < 8 * bytes
    }

    /// Debits up to `bytes` and returns how many may be given out: none if that would be less than
    /// `min` or leave less than `reserved`, and from a limited pool no more than was credited.
    pub fn debit(&mut self, bytes: usize, min: usize, reserved: usize) -> usize {
        let credited = self.entropy as usize / 8;
        if credited < min + reserved {
            return 0;
        }
        let available = bytes.min(credited - reserved);
        self.entropy = match available == bytes || self.is_limited {
            true => self.entropy - 8 * available as u32,
            // An unlimited pool gives out more than was credited. It has no reserve: reserves are for
            // transfers, which come from the input pool.
            false => 0,
        };
        if self.is_limited { available } else { bytes }
    }

    #[cfg(test)]
    pub fn set_entropy(&mut self, bits: u32) {
        self.entropy = bits;
    }
}

/// Multiples of the CRC-32 polynomial (reflected, as in Ethernet) for the three bits that are
/// shifted out.
const TWIST: [u32; 8] = [
    0x0000_0000,
    0x3b6e_20c8,
    0x76dc_4190,
    0x4db2_6158,
    0xedb8_8320,
    0xd6d6_a3e8,
    0x9b64_c2b0,
    0xa00a_e278,
];

/// `byte`, signed as chars are on x86, rotated left.
#[inline]
fn spread(byte: u8, rotation: u32) -> u32 {
    i32::from(byte.cast_signed())
        .cast_unsigned()
        .rotate_left(rotation % u32::BITS)
}

/// One step of the shift register.
#[inline]
fn twist(word: u32) -> u32 {
    (word >> 3) ^ TWIST[(word % 8) as usize]
}

/// Number of bytes that one extraction gives.
pub const EXTRACT_LEN: usize = 10;

/// Words of a block of SHA-1.
const BLOCK_WORDS: usize = 16;

/// SHA-1's initial hash value (FIPS 180-4 section 5.3.1).
const SHA1_INITIAL: [u32; 5] = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];

impl<const WORDS: usize> Pool<WORDS> {
    /// Extracts ten bytes.
    pub fn extract(&mut self) -> [u8; EXTRACT_LEN] {
        let mut hash = SHA1_INITIAL;
        for words in self.words().as_chunks().0 {
            compress(&mut hash, &[block_of(words)]);
        }
        self.mix(hash.map(u32::to_le_bytes).as_flattened());
        compress(&mut hash, &[block_of(&self.words_behind())]);
        fold(hash)
    }

    /// Fills `out`, ten bytes at a time.
    pub fn extract_to(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(EXTRACT_LEN) {
            let block = self.extract();
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }
}

/// The words as they lie in memory on x86, which SHA-1 reads as big-endian words.
fn block_of(words: &[u32; BLOCK_WORDS]) -> [u8; 64] {
    let mut block = [0; 64];
    for (place, word) in block.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    block
}

/// The hash with its halves XORed, in the middle of the third word.
fn fold(hash: [u32; 5]) -> [u8; EXTRACT_LEN] {
    let [w0, w1, w2, w3, w4] = hash;
    let folded = [w0 ^ w3, w1 ^ w4, w2 ^ w2.rotate_left(16)].map(u32::to_le_bytes);
    *folded.as_flattened().first_chunk().expect("10 bytes of 12")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first byte meets zeros at word 127: w = 1, p = (1 >> 3) ^ TWIST[1]. The second is
    /// rotated by 7 and meets that word through tap 1 at word 126: w = 80 ^ 3b6e20c8 = 3b6e2048,
    /// whose low three bits are 0, so p = w >> 3.
    #[test]
    fn two_bytes_into_zeros() {
        let mut pool = Pool::input();
        pool.mix(&[1]);
        assert_eq!(pool.words[127], 0x3b6e_20c8);
        assert_eq!((pool.position, pool.rotation), (127, 7));
        pool.mix(&[1]);
        assert_eq!(pool.words[126], 0x076d_c409);
        assert_eq!((pool.position, pool.rotation), (126, 14));
        assert!(pool.words[..126].iter().all(|&word| word == 0));
    }

    /// A round of 32 zeros changes no word. It rotates by 31·7 + 14 = 231 = 7 (mod 32), so the
    /// next byte, 1, is 80 at word 31, and (80 >> 3) = 10 is written. Without the double step it
    /// would be rotated by 0.
    #[test]
    fn a_round_rotates_once_more() {
        let mut pool = Pool::blocking();
        pool.mix(&[0; 32]);
        assert_eq!((pool.position, pool.rotation), (0, 7));
        assert_eq!(pool.words, [0; 32]);
        pool.mix(&[1]);
        assert_eq!((pool.position, pool.rotation), (31, 14));
        assert_eq!(pool.words[31], 0x10);
    }

    /// With a single bit at word t and everything else zero, mixing a zero at word 0 must meet it
    /// exactly if t is 0 or a tap; (8 >> 3) = 1 is written then.
    #[test]
    fn taps() {
        fn reached<const WORDS: usize>(pool: Pool<WORDS>) -> Vec<usize> {
            let meets = |t: &usize| {
                let mut pool = pool.clone();
                pool.position = 1;
                pool.words[*t] = 8;
                pool.mix(&[0]);
                pool.words[0] == 1
            };
            (0..WORDS).filter(meets).collect()
        }
        assert_eq!(reached(Pool::input()), [0, 1, 25, 51, 76, 103]);
        assert_eq!(reached(Pool::blocking()), [0, 1, 7, 14, 20, 26]);
        assert_eq!(reached(Pool::nonblocking()), [0, 1, 7, 14, 20, 26]);
    }

    /// 100 bits are 12 bytes and 4 bits.
    #[test]
    fn a_limited_pool_gives_what_it_has_and_an_unlimited_one_what_is_asked() {
        let (mut limited, mut unlimited) = (Pool::input(), Pool::nonblocking());
        limited.set_entropy(100);
        unlimited.set_entropy(100);
        let mut debit = |min, reserved| limited.debit(20, min, reserved);
        assert_eq!(debit(8, 5), 0, "12 bytes are less than 8 + 5");
        assert_eq!(debit(8, 2), 10, "all but the 2 that are reserved");
        assert_eq!((limited.debit(1, 0, 0), limited.entropy()), (1, 12));
        assert_eq!((unlimited.debit(5, 0, 0), unlimited.entropy()), (5, 60));
        assert_eq!(
            (unlimited.debit(1000, 0, 0), unlimited.entropy()),
            (1000, 0)
        );
    }

    #[test]
    fn a_pool_lacks_bytes_without_credit_unless_it_is_full() {
        let mut pool = Pool::blocking();
        pool.credit(80);
        assert!(!pool.lacks(10) && pool.lacks(11));
        pool.credit(1024);
        assert_eq!(pool.entropy(), 1024);
        assert!(!pool.lacks(1000), "it is full");
    }

    #[test]
    fn bytes_from_128_on_are_negative() {
        assert_eq!(spread(0x7f, 0), 0x0000_007f);
        assert_eq!(spread(0x80, 0), 0xffff_ff80);
        // ffffff80 rotated by 4: the four ones on top move to the bottom.
        assert_eq!(spread(0x80, 4), 0xffff_f80f);
        assert_eq!(spread(0x01, 31), 0x8000_0000);
        assert_eq!(spread(0x01, 32 + 7), 0x0000_0080);
    }

    /// The table is one bit's twist for each of three bits, which is what makes mixing linear.
    #[test]
    fn the_table_is_linear() {
        for (i, word) in TWIST.into_iter().enumerate() {
            let of_bit = |bit: usize| if i & bit == 0 { 0 } else { TWIST[bit] };
            assert_eq!(word, of_bit(1) ^ of_bit(2) ^ of_bit(4));
        }
    }

    /// "abc" in one block, as in FIPS 180-4: a one, zeros, and the length of 24 bits.
    #[test]
    fn the_initial_hash_is_that_of_sha1() {
        let mut hash = SHA1_INITIAL;
        let mut block = [0; 64];
        block[..4].copy_from_slice(b"abc\x80");
        block[63] = 24;
        compress(&mut hash, &[block]);
        assert_eq!((hash[0], hash[4]), (0xa999_3e36, 0x9cd0_d89d));
    }

    /// The whole of an extraction step by step: a slow restatement on plain byte lists.
    fn extract_restated<const WORDS: usize>(pool: &mut Pool<WORDS>) -> Vec<u8> {
        let as_bytes = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let mut hash = SHA1_INITIAL;
        let memory = as_bytes(pool.words());
        for start in (0..memory.len()).step_by(64) {
            let block = memory[start..start + 64].try_into().expect("64 bytes");
            compress(&mut hash, &[block]);
        }
        pool.mix(&as_bytes(&hash));
        let behind = as_bytes(&pool.words_behind::<16>());
        compress(&mut hash, &[behind.try_into().expect("64 bytes")]);
        let out = [
            hash[0] ^ hash[3],
            hash[1] ^ hash[4],
            hash[2] ^ hash[2].rotate_left(16),
        ];
        as_bytes(&out)[..10].to_vec()
    }

    #[track_caller]
    fn extracts_as_restated<const WORDS: usize>(mut pool: Pool<WORDS>) {
        pool.mix(b"some bytes, the last of them beyond ASCII: \xe9");
        let mut slow = pool.clone();
        for _ in 0..40 {
            assert_eq!(pool.extract().to_vec(), extract_restated(&mut slow));
            assert_eq!(pool.words(), slow.words());
        }
    }

    #[test]
    fn both_sizes_as_restated() {
        extracts_as_restated(Pool::input());
        extracts_as_restated(Pool::blocking());
    }

    #[test]
    fn the_last_extraction_is_truncated() {
        let (mut long, mut short) = (Pool::blocking(), Pool::blocking());
        let (mut two, mut part) = ([0; 20], [0; 13]);
        long.extract_to(&mut two);
        short.extract_to(&mut part);
        assert_eq!(part, two[..13]);
        assert_eq!(long.words(), short.words());
    }

    #[test]
    fn words_behind_go_backwards() {
        let mut pool = Pool::blocking();
        pool.words = core::array::from_fn(|i| i as u32);
        pool.position = 2;
        assert_eq!(pool.words_behind(), [2, 1, 0, 31, 30]);
    }
}
