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
    use crate::tests::md5_compress;

    /// Two numbers with a secret of zeros: the hash is what MD5's compression function makes of
    /// a block of zeros from [6, 0, 0, 0], and then from there with another 15 added.
    #[test]
    fn zero_secret() {
        let mut ints = Ints::default();
        let mut hash = md5_compress([6, 0, 0, 0], &[0; SECRET_LEN]);
        assert_eq!(ints.next(1, 2, 3), hash[0]);
        hash[0] = hash[0].wrapping_add(15);
        assert_eq!(ints.next(4, 5, 6), md5_compress(hash, &[0; SECRET_LEN])[0]);
    }

    #[test]
    fn the_secret_is_the_hashed_block() {
        let mut ints = Ints::default();
        let secret = core::array::from_fn(|i| i as u8);
        ints.set_secret(secret);
        // The sum wraps to 1.
        let hash = md5_compress([1, 0, 0, 0], &secret);
        assert_eq!(ints.next(u32::MAX, 1, 1), hash[0]);
    }
}
