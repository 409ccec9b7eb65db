//! `get_random_int`: numbers for address layouts and the like, from MD5 and a secret.

use md5::block_api::compress;

/// Length of the secret, in bytes: a block of MD5.
pub const SECRET_LEN: usize = 64;

/// A CPU's hash and the kernel's secret.
#[derive(Clone)]
pub struct Ints {
    hash: [u32; 4],
    secret: [u8; SECRET_LEN],
}

impl Default for Ints {
    fn default() -> Ints {
        Ints {
            hash: [0; 4],
            secret: [0; SECRET_LEN],
        }
    }
}

impl Ints {
    /// Replaces the secret.
    pub fn set_secret(&mut self, secret: [u8; SECRET_LEN]) {
        self.secret = secret;
    }

    /// The next number.
    pub fn next(&mut self, pid: u32, jiffies: u32, cycles: u32) -> u32 {
        let moment = pid.wrapping_add(jiffies).wrapping_add(cycles);
        self.hash[0] = self.hash[0].wrapping_add(moment);
        compress(&mut self.hash, &[self.secret]);
        self.hash[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// "abc" in one block, as in RFC 1321 (section A.5): a one, zeros, and the length of 24 bits. The moment, 6, is
    /// added to MD5's initial hash.
    #[test]
    fn a_number_is_the_first_word_of_the_secrets_md5() {
        let mut ints = Ints {
            hash: [0x6745_2301 - 6, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476],
            ..Ints::default()
        };
        let mut secret = [0; SECRET_LEN];
        secret[..4].copy_from_slice(b"abc\x80");
        secret[56] = 24;
        ints.set_secret(secret);
        // The compression function adds the initial hash to its result.
        assert_eq!(ints.next(1, 2, 3), 0x9850_0190);
        assert_eq!(ints.hash[3], 0x727f_e128);
    }

    /// The hash goes on from where it was, and sums wrap.
    #[test]
    fn the_next_number_depends_on_the_one_before() {
        let (mut ints, mut hash) = (Ints::default(), [1, 0, 0, 0]);
        compress(&mut hash, &[[0; SECRET_LEN]]);
        assert_eq!(ints.next(u32::MAX, 1, 1), hash[0]);
        hash[0] = hash[0].wrapping_add(15);
        compress(&mut hash, &[[0; SECRET_LEN]]);
        assert_eq!(ints.next(4, 5, 6), hash[0]);
    }
}
