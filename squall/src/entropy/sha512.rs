//! SHA-512 (FIPS 180-4), constant-time. It hashes secrets, and wipes the copies that this makes; it
//! leaves words of them in registers and below its frame, which its callers clear.

use squall_drbg::internal::wipe;

/// Length of a block, in bytes.
pub(super) const BLOCK_LEN: usize = 128;

/// Length of a hash, in bytes.
pub(super) const HASH_LEN: usize = 64;

/// Place of the message's length in its last block.
const LENGTH: usize = BLOCK_LEN - size_of::<u128>();

/// The square roots of the first eight primes, their first 64 bits after the point (5.3.5).
#[rustfmt::skip]
const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179,
];

/// The cube roots of the first eighty primes, their first 64 bits after the point (4.2.3).
#[rustfmt::skip]
const CONSTANTS: [u64; 80] = [
    0x428a_2f98_d728_ae22, 0x7137_4491_23ef_65cd, 0xb5c0_fbcf_ec4d_3b2f, 0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538, 0x59f1_11f1_b605_d019, 0x923f_82a4_af19_4f9b, 0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242, 0x1283_5b01_4570_6fbe, 0x2431_85be_4ee4_b28c, 0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f, 0x80de_b1fe_3b16_96b1, 0x9bdc_06a7_25c7_1235, 0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2, 0xefbe_4786_384f_25e3, 0x0fc1_9dc6_8b8c_d5b5, 0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275, 0x4a74_84aa_6ea6_e483, 0x5cb0_a9dc_bd41_fbd4, 0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab, 0xa831_c66d_2db4_3210, 0xb003_27c8_98fb_213f, 0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2, 0xd5a7_9147_930a_a725, 0x06ca_6351_e003_826f, 0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc, 0x2e1b_2138_5c26_c926, 0x4d2c_6dfc_5ac4_2aed, 0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de, 0x766a_0abb_3c77_b2a8, 0x81c2_c92e_47ed_aee6, 0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364, 0xa81a_664b_bc42_3001, 0xc24b_8b70_d0f8_9791, 0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218, 0xd699_0624_5565_a910, 0xf40e_3585_5771_202a, 0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8, 0x1e37_6c08_5141_ab53, 0x2748_774c_df8e_eb99, 0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63, 0x4ed8_aa4a_e341_8acb, 0x5b9c_ca4f_7763_e373, 0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc, 0x78a5_636f_4317_2f60, 0x84c8_7814_a1f0_ab72, 0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28, 0xa450_6ceb_de82_bde9, 0xbef9_a3f7_b2c6_7915, 0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c, 0xd186_b8c7_21c0_c207, 0xeada_7dd6_cde0_eb1e, 0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba, 0x0a63_7dc5_a2c8_98a6, 0x113f_9804_bef9_0dae, 0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84, 0x32ca_ab7b_40c7_2493, 0x3c9e_be0a_15c9_bebc, 0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6, 0x597f_299c_fc65_7e2a, 0x5fcb_6fab_3ad6_faec, 0x6c44_198c_4a47_5817,
];

/// Hashes the concatenation of `parts`, and writes the first bytes of the hash to `out`.
///
/// # Panics
/// If `out` is longer than a hash.
pub(super) fn hash(parts: &[&[u8]], out: &mut [u8]) {
    let mut state = START;
    let mut block = [0; BLOCK_LEN];
    let mut filled = 0;
    let mut len: u128 = 0;
    for part in parts {
        len += part.len() as u128;
        for piece in pieces(part, BLOCK_LEN - filled) {
            block[filled..][..piece.len()].copy_from_slice(piece);
            filled += piece.len();
            if filled == BLOCK_LEN {
                compress(&mut state, &block);
                filled = 0;
            }
        }
    }
    block[filled] = 0x80;
    block[filled + 1..].fill(0);
    if filled >= LENGTH {
        compress(&mut state, &block);
        block.fill(0);
    }
    block[LENGTH..].copy_from_slice(&(8 * len).to_be_bytes());
    compress(&mut state, &block);
    wipe(&mut block);
    let mut hash = to_bytes(&state);
    out.copy_from_slice(&hash[..out.len()]);
    wipe(&mut state);
    wipe(&mut hash);
}

/// The first `first` bytes, then blocks, the last of which may be shorter.
fn pieces(bytes: &[u8], first: usize) -> impl Iterator<Item = &[u8]> {
    let (first, others) = bytes.split_at(first.min(bytes.len()));
    core::iter::once(first).chain(others.chunks(BLOCK_LEN))
}

/// The compression function: mixes `block` into `state` (6.4.2).
pub(super) fn compress(state: &mut [u64; 8], block: &[u8; BLOCK_LEN]) {
    let mut schedule: [u64; 16] = words(block);
    let mut variables = *state;
    for (number, constants) in CONSTANTS.as_chunks::<16>().0.iter().enumerate() {
        if number > 0 {
            extend(&mut schedule);
        }
        for (word, constant) in schedule.iter().zip(constants) {
            variables = round(variables, word.wrapping_add(*constant));
        }
    }
    for (word, variable) in state.iter_mut().zip(&variables) {
        *word = word.wrapping_add(*variable);
    }
    wipe(&mut schedule);
    wipe(&mut variables);
}

fn round([a, b, c, d, e, f, g, h]: [u64; 8], word: u64) -> [u64; 8] {
    let sum_e = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
    let choice = g ^ (e & (f ^ g));
    let first = [sum_e, choice, word].iter().fold(h, add);
    let sum_a = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
    let majority = (a & b) | (c & (a | b));
    let second = sum_a.wrapping_add(majority);
    [
        first.wrapping_add(second),
        a,
        b,
        c,
        d.wrapping_add(first),
        e,
        f,
        g,
    ]
}

/// Replaces sixteen words of the message schedule by the next sixteen.
fn extend(schedule: &mut [u64; 16]) {
    for i in 0..16 {
        let (two_before, fifteen_before) = (schedule[(i + 14) % 16], schedule[(i + 1) % 16]);
        let first = two_before.rotate_right(19) ^ two_before.rotate_right(61) ^ (two_before >> 6);
        let second =
            fifteen_before.rotate_right(1) ^ fifteen_before.rotate_right(8) ^ (fifteen_before >> 7);
        schedule[i] = [first, schedule[(i + 9) % 16], second]
            .iter()
            .fold(schedule[i], add);
    }
}

fn add(sum: u64, term: &u64) -> u64 {
    sum.wrapping_add(*term)
}

/// The big-endian words of `bytes`, which has exactly `N` of them.
pub(super) fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let (words, _) = bytes.as_chunks();
    core::array::from_fn(|i| u64::from_be_bytes(words[i]))
}

/// The words of a state, big-endian.
pub(super) fn to_bytes(state: &[u64; 8]) -> [u8; HASH_LEN] {
    let mut bytes = [0; HASH_LEN];
    for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(state) {
        *place = word.to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha512};

    fn hashed(parts: &[&[u8]]) -> [u8; HASH_LEN] {
        let mut out = [0; HASH_LEN];
        hash(parts, &mut out);
        out
    }

    /// The examples of FIPS 180-2, appendix C.
    #[test]
    fn published_examples() {
        let two_blocks = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn\
                          hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
        let a_million = "a".repeat(1_000_000);
        for (message, starts, ends) in [
            ("abc", 0xddaf_35a1_9361_7aba, 0x2a9a_c94f_a54c_a49f),
            (two_blocks, 0x8e95_9b75_dae3_13da, 0x5e96_e55b_874b_e909),
            (&a_million, 0xe718_483d_0ce7_6964, 0x4ead_b217_ad8c_c09b_u64),
        ] {
            let hash: [u64; 8] = words(&hashed(&[message.as_bytes()]));
            assert_eq!(
                (hash[0], hash[7]),
                (starts, ends),
                "{} bytes",
                message.len()
            );
        }
    }

    #[test]
    fn hashes_are_those_of_the_sha2_crate_whatever_the_parts() {
        let message: Vec<u8> = (0..3 * BLOCK_LEN as u32).map(|i| (i * i) as u8).collect();
        for len in 0..=message.len() {
            let message = &message[..len];
            let expected = Sha512::digest(message);
            for place in [0, 1, 63, 111, 112, 127, 128, 129, 255].map(|place: usize| place.min(len))
            {
                let (one, other) = message.split_at(place);
                assert_eq!(
                    hashed(&[one, &[], other])[..],
                    expected[..],
                    "{place} of {len}"
                );
            }
        }
    }

    #[test]
    fn a_shorter_hash_is_the_beginning_of_the_whole() {
        let mut out = [0; 48];
        hash(&[b"abc"], &mut out);
        assert_eq!(out, hashed(&[b"abc"])[..48]);
    }
}
