//! The two operations that mix bytes into any pool: a byte is rotated, and a word is twisted.

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
pub fn spread(byte: u8, rotation: u32) -> u32 {
    i32::from(byte.cast_signed())
        .cast_unsigned()
        .rotate_left(rotation % u32::BITS)
}

/// One step of the shift register.
#[inline]
pub fn twist(word: u32) -> u32 {
    (word >> 3) ^ TWIST[(word % 8) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_from_128_on_are_negative() {
        assert_eq!(spread(0x7f, 0), 0x0000_007f);
        assert_eq!(spread(0x80, 0), 0xffff_ff80);
        // ffffff80 rotated by 4: the four ones on top move to the bottom.
        assert_eq!(spread(0x80, 4), 0xffff_f80f);
        assert_eq!(spread(0x01, 31), 0x8000_0000);
        assert_eq!(spread(0x01, 32 + 7), 0x0000_0080);
    }

    #[test]
    fn twisting_shifts_three_bits_out() {
        assert_eq!(twist(0x10), 0x02);
        assert_eq!(twist(1), 0x3b6e_20c8);
        // 1fffffff ^ a00ae278
        assert_eq!(twist(0xffff_ffff), 0xbff5_1d87);
    }

    /// The table is one bit's twist for each of three bits, which is what makes mixing linear.
    #[test]
    fn the_table_is_linear() {
        for (i, word) in TWIST.into_iter().enumerate() {
            let of_bit = |bit: usize| if i & bit == 0 { 0 } else { TWIST[bit] };
            assert_eq!(word, of_bit(1) ^ of_bit(2) ^ of_bit(4));
        }
    }
}
