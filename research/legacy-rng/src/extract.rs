//! Extracts output from a pool: SHA-1 over the whole pool, folded to ten bytes.
//!
//! The hash is mixed back in before the bytes are returned, so that the pool after an extraction
//! does not reveal the extracted bytes.

use sha1::block_api::compress;

use super::pool::Pool;

/// Number of bytes that one extraction gives.
pub const EXTRACT_LEN: usize = 10;

/// Returns a word of hardware randomness, or None if it fails.
pub type HardwareRandom = fn() -> Option<u64>;

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
    pub fn extract(&mut self, hardware: Option<HardwareRandom>) -> [u8; EXTRACT_LEN] {
        let mut hash = SHA1_INITIAL;
        for words in self.words().as_chunks().0 {
            compress(&mut hash, &[block_of(words)]);
        }
        self.mix(hash.map(u32::to_le_bytes).as_flattened());
        compress(&mut hash, &[block_of(&self.words_behind())]);
        let mut folded = u128::from_le_bytes(fold(hash));
        if let Some(source) = hardware {
            folded ^= hardware_mask(source);
        }
        let bytes = folded.to_le_bytes();
        *bytes.first_chunk().expect("10 bytes of 16")
    }

    /// Fills `out`, ten bytes at a time.
    pub fn extract_to(&mut self, out: &mut [u8], hardware: Option<HardwareRandom>) {
        for chunk in out.chunks_mut(EXTRACT_LEN) {
            let block = self.extract(hardware);
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

/// The hash with its halves XORed, in the middle of the third word. Ten bytes of the sixteen
/// come out.
fn fold(hash: [u32; 5]) -> [u8; 16] {
    let [w0, w1, w2, w3, w4] = hash;
    let folded = [w0 ^ w3, w1 ^ w4, w2 ^ w2.rotate_left(16), w3];
    let mut bytes = [0; 16];
    bytes.copy_from_slice(folded.map(u32::to_le_bytes).as_flattened());
    bytes
}

/// Two words of hardware randomness; zeros from where the hardware fails.
fn hardware_mask(source: HardwareRandom) -> u128 {
    let Some(low) = source() else { return 0 };
    let high = source().unwrap_or(0);
    u128::from(high) << u64::BITS | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// a ^ d = 11111111 ^ 44444444, b ^ e = 22222222 ^ 0f0f0f0f, and c = 12345678 with its
    /// halves XORed: 1234 ^ 5678 = 444c, twice. Low bytes come first.
    #[test]
    fn the_hash_is_folded_as_by_hand() {
        let folded = fold([
            0x1111_1111,
            0x2222_2222,
            0x1234_5678,
            0x4444_4444,
            0x0f0f_0f0f,
        ]);
        let emitted = [0x55, 0x55, 0x55, 0x55, 0x2d, 0x2d, 0x2d, 0x2d, 0x4c, 0x44];
        assert_eq!(folded[..EXTRACT_LEN], emitted);
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
            assert_eq!(pool.extract(None).to_vec(), extract_restated(&mut slow));
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
        long.extract_to(&mut two, None);
        short.extract_to(&mut part, None);
        assert_eq!(part, two[..13]);
        assert_eq!(long.words(), short.words());
    }

    #[test]
    fn hardware_randomness_is_xored_to_the_output_and_not_mixed_in() {
        let (mut with, mut without) = (Pool::input(), Pool::input());
        let masked = with.extract(Some(|| Some(0x0807_0605_0403_0201)));
        let mask = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2];
        let plain = without.extract(None);
        assert_eq!(masked, core::array::from_fn(|i| plain[i] ^ mask[i]));
        assert_eq!(with.words(), without.words());
        let (failing, plain) = (with.extract(Some(|| None)), without.extract(None));
        assert_eq!(failing, plain);
    }
}
