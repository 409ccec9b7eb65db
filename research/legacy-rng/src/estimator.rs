//! The estimator: how much entropy a timer event brings, guessed from its time in jiffies.
//!
//! It considers the difference to the previous event, the difference of the last two differences,
//! and the difference of those. Whoever chooses the times chooses the estimate, and the other data of
//! the event are ignored. The attacks exploit both.

/// Most that is credited for an event, in bits.
const MAX_CREDIT: u32 = 11;

/// The times of earlier events, as far as the estimator remembers them.
#[derive(Clone, Default)]
pub struct Estimator {
    last_time: u32,
    last_delta: i32,
    last_delta2: i32,
}

impl Estimator {
    /// Bits to credit for an event at `jiffies`.
    pub fn estimate(&mut self, jiffies: u32) -> u32 {
        let delta = jiffies.wrapping_sub(self.last_time).cast_signed();
        let delta2 = delta.wrapping_sub(self.last_delta);
        let delta3 = delta2.wrapping_sub(self.last_delta2);
        *self = Estimator {
            last_time: jiffies,
            last_delta: delta,
            last_delta2: delta2,
        };
        let least = [delta, delta2, delta3].map(i32::unsigned_abs).into_iter();
        // The lowest bit is dropped, because a clock's tick has about that much regularity.
        let halved = least.min().unwrap_or(0) >> 1;
        let bit_length = u32::BITS - halved.leading_zeros();
        bit_length.min(MAX_CREDIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn credits(times: &[u32], expected: &[u32]) {
        let mut estimator = Estimator::default();
        let credits: Vec<_> = times.iter().map(|&t| estimator.estimate(t)).collect();
        assert_eq!(credits, expected);
    }

    /// | time | d1 | d2 | d3 | least | credit |
    /// | --- | --- | --- | --- | --- | --- |
    /// | 100 | 100 | 100 | 100 | 100 | fls(50) = 6 |
    /// | 108 | 8 | -92 | -192 | 8 | fls(4) = 3 |
    /// | 118 | 10 | 2 | 94 | 2 | fls(1) = 1 |
    /// | 128 | 10 | 0 | -2 | 0 | 0 |
    /// | 131 | 3 | -7 | -7 | 3 | fls(1) = 1 |
    #[test]
    fn estimates_match_values_by_hand() {
        credits(&[100, 108, 118, 128, 131], &[6, 3, 1, 0, 1]);
    }

    #[test]
    fn at_most_eleven_bits() {
        // fls(2047 >> 1) = 10, fls(2048 >> 1) = 11, and far more is not credited more.
        credits(&[2047], &[10]);
        credits(&[2048], &[11]);
        credits(&[0x4000_0000], &[11]);
    }

    /// Steps of 4096 and 2048 in turns: d1 is 4096 or 2048, d2 2048 either way, d3 4096.
    #[test]
    fn alternating_steps_earn_the_maximum() {
        let times = [0, 4096, 6144, 10240, 12288, 16384, 18432];
        credits(&times, &[0, 11, 11, 11, 11, 11, 11]);
    }

    /// The clock wraps: from ffffff00 to 100 it is 512 jiffies. d2 = 512 + 256 and d3 = 512 + 512:
    /// the first event, at -256, had d1 = d2 = d3 = -256.
    #[test]
    fn jiffies_wrap() {
        credits(&[0xffff_ff00, 0x100], &[8, 9]);
    }

    /// At 606, d1 = 306, d2 = 306 - 200 = 106 and d3 = 106 - 100 = 6: the third difference alone
    /// is the least, and fls(3) = 2. At 920, d1 = 314, d2 = 8, d3 = -98, and fls(4) = 3.
    #[test]
    fn the_third_difference_counts() {
        credits(&[100, 300, 606, 920], &[6, 0, 2, 3]);
    }
}
