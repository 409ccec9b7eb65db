//! The fast pool, which collects interrupts cheaply before they reach the input pool.

use super::pool::{spread, twist};

/// Jiffies in a second (the kernel's default, `CONFIG_HZ=250`).
const HZ: i32 = 250;

/// Interrupts after which the pool is passed on.
const FLUSH_EVERY: u32 = 64;

const WORDS: usize = 4;

/// Length of an interrupt's data and of the pool, in bytes.
pub const FAST_LEN: usize = WORDS * size_of::<u32>();

/// Four words of mixed interrupts. Passing them on does not change them.
#[derive(Clone, Default)]
pub struct FastPool {
    words: [u32; WORDS],
    rotation: u32,
    interrupts: u32,
    last_flush: u32,
}

impl FastPool {
    /// Mixes an interrupt in. Returns the pool's bytes if it is time to pass them on.
    pub fn add(&mut self, irq: u32, ip: u64, jiffies: u32, cycles: u32) -> Option<[u8; FAST_LEN]> {
        let ip_low = ip as u32;
        let ip_high = (ip >> u32::BITS) as u32;
        self.mix(&bytes_of([cycles ^ jiffies, irq, ip_low, ip_high]));
        self.interrupts = self.interrupts.wrapping_add(1);
        let since = jiffies.wrapping_sub(self.last_flush).cast_signed();
        if !self.interrupts.is_multiple_of(FLUSH_EVERY) && since <= HZ {
            return None;
        }
        self.last_flush = jiffies;
        Some(bytes_of(self.words))
    }

    /// Mixes 16 bytes in, four into each word, as a pool with one tap does; but the mixing point
    /// goes upwards.
    fn mix(&mut self, bytes: &[u8; FAST_LEN]) {
        for (i, &byte) in bytes.iter().enumerate() {
            let (here, next) = (i % WORDS, (i + 1) % WORDS);
            let word = spread(byte, self.rotation) ^ self.words[here] ^ self.words[next];
            self.words[here] = twist(word);
            let step = if here == 0 { 14 } else { 7 };
            self.rotation = (self.rotation + step) % u32::BITS;
        }
    }
}

/// Words as they lie in memory on x86.
fn bytes_of(words: [u32; WORDS]) -> [u8; FAST_LEN] {
    let mut bytes = [0; FAST_LEN];
    for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ones in bytes 1 to 5, so that the rotation shows: 14 for byte 1, then 21, 28 and
    /// 35 = 3, and 14 more behind word 0.
    ///
    /// | byte | w | word |
    /// | --- | --- | --- |
    /// | 1 | 1 << 14 | word 1 = 800 |
    /// | 2 | 1 << 21 | word 2 = 40000 |
    /// | 3 | 1 << 28 | word 3 = 2000000 |
    /// | 4 | 1 << 3, with word 1: 808 | word 0 = 101 |
    /// | 5 | 1 << 17, with words 1 and 2: 60800 | word 1 = c100 |
    /// | 6 | words 2 and 3: 2040000 | word 2 = 408000 |
    /// | 7 | words 3 and 0: 2000101, odd | word 3 = 400020 ^ 3b6e20c8 |
    ///
    /// and so on with zeros.
    #[test]
    fn later_bytes_are_rotated() {
        let mut pool = FastPool::default();
        pool.mix(&[0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut words = [0x101, 0xc100, 0x40_8000, 0x0040_0020 ^ 0x3b6e_20c8];
        for i in (0..WORDS).cycle().take(FAST_LEN - 8) {
            words[i] = twist(words[i] ^ words[(i + 1) % WORDS]);
        }
        assert_eq!(pool.words, words);
        let last = [0x076c_c61d, 0xd63a_186f, 0x3b82_9a2b, 0x3b82_b86b];
        assert_eq!(pool.words, last);
    }

    /// Computed by a restatement in another language.
    #[test]
    fn three_interrupts_match_a_restatement() {
        let mut pool = FastPool::default();
        pool.add(0x0403_0201, 0x1817_1615_1413_1211, 0xffff_0000, 0x0807_0605);
        let first = [0x4734_7a8e, 0x4f88_24c6, 0x1db2_0939, 0xcd5d_d8cb];
        assert_eq!((pool.words, pool.rotation), (first, 12));
        pool.add(9, 0xffff_ffff_8100_00ff, 0x80, 0x1234_5678);
        let second = [0xa02e_d1ac, 0x429f_3e0e, 0x1bc3_8437, 0xd80f_affb];
        assert_eq!((pool.words, pool.rotation), (second, 24));
        pool.add(0x80ff, 0x7fed_cba9_fedc_ba98, 0xffff_fff0, 0xdead_beef);
        let third = [0xbeea_25c8, 0x232c_2cfe, 0x5a15_f700, 0x0133_9283];
        assert_eq!((pool.words, pool.rotation), (third, 4));
    }

    /// The words are passed on and kept: the 65th interrupt is mixed into what the 64 left.
    #[test]
    fn words_are_kept_when_passed_on() {
        let mut pool = FastPool::default();
        let passed_on = (1..=64).filter_map(|cycles| pool.add(1, 2, 0, cycles));
        let passed_on: Vec<_> = passed_on.collect();
        let kept = [0x2b95_7a26, 0x7221_aea8, 0xe828_7ec2, 0x5528_545e];
        assert_eq!(passed_on, [bytes_of(kept)]);
        assert_eq!(pool.words, kept);
        pool.add(1, 2, 0, 65);
        let mixed = [0x572d_0dd6, 0x735b_be9c, 0x7df6_b22d, 0xc044_cd3d];
        assert_eq!(pool.words, mixed);
    }

    #[test]
    fn the_pool_is_passed_on_every_64_interrupts() {
        let mut pool = FastPool::default();
        let due: Vec<_> = (1..=200)
            .filter(|&i| pool.add(1, 2, 0, i).is_some())
            .collect();
        assert_eq!(due, [64, 128, 192]);
    }

    #[test]
    fn the_pool_is_passed_on_after_a_second() {
        let mut pool = FastPool::default();
        let mut is_due = |jiffies| pool.add(1, 2, jiffies, 3).is_some();
        assert!(!is_due(250), "a second, and not more");
        assert!(is_due(251));
        assert!(!is_due(501));
        assert!(is_due(502));
    }
}
