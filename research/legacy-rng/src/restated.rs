//! SHA-1 and MD5 compression, written as in their standards, to test against.

/// SHA-1's compression function (FIPS 180-4 section 6.1.2) on a block of 64 bytes.
pub fn sha1_compress(state: [u32; 5], block: &[u8]) -> [u32; 5] {
    let mut w = Vec::new();
    for word in block.chunks(4) {
        w.push(u32::from_be_bytes(word.try_into().expect("words")));
    }
    for t in 16..80 {
        w.push((w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16]).rotate_left(1));
    }
    let [mut a, mut b, mut c, mut d, mut e] = state;
    for (t, word) in w.into_iter().enumerate() {
        let (f, k) = match t / 20 {
            0 => ((b & c) ^ (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) ^ (b & d) ^ (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let sum = [a.rotate_left(5), f, e, k, word];
        let next = sum.into_iter().fold(0, u32::wrapping_add);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    let end = [a, b, c, d, e];
    core::array::from_fn(|i| state[i].wrapping_add(end[i]))
}

/// MD5's compression function (RFC 1321 section 3.4) on a block of 64 bytes.
pub fn md5_compress(state: [u32; 4], block: &[u8]) -> [u32; 4] {
    const SHIFTS: [[u32; 4]; 4] = [
        [7, 12, 17, 22],
        [5, 9, 14, 20],
        [4, 11, 16, 23],
        [6, 10, 15, 21],
    ];
    let word = |i: usize| {
        let bytes = block[4 * i..4 * i + 4].try_into().expect("words");
        u32::from_le_bytes(bytes)
    };
    let [mut a, mut b, mut c, mut d] = state;
    for i in 0..64 {
        let (f, g) = match i / 16 {
            0 => ((b & c) | (!b & d), i),
            1 => ((b & d) | (c & !d), 5 * i + 1),
            2 => (b ^ c ^ d, 3 * i + 5),
            _ => (c ^ (b | !d), 7 * i),
        };
        let sine = (((i + 1) as f64).sin().abs() * 2f64.powi(32)) as u32;
        let sum = [a, f, sine, word(g % 16)]
            .into_iter()
            .fold(0, u32::wrapping_add);
        let next = b.wrapping_add(sum.rotate_left(SHIFTS[i / 16][i % 4]));
        (a, d, c, b) = (d, c, b, next);
    }
    let end = [a, b, c, d];
    core::array::from_fn(|i| state[i].wrapping_add(end[i]))
}

/// "abc" in one block, padded by hand: a one, zeros, and the length of 24 bits where the hash
/// has it.
fn abc(length_at: usize) -> [u8; 64] {
    let mut block = [0; 64];
    block[..4].copy_from_slice(b"abc\x80");
    block[length_at] = 24;
    block
}

/// FIPS 180-4's example.
#[test]
fn sha1_of_abc() {
    let initial = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    let digest = [
        0xa999_3e36,
        0x4706_816a,
        0xba3e_2571,
        0x7850_c26c,
        0x9cd0_d89d,
    ];
    assert_eq!(sha1_compress(initial, &abc(63)), digest);
}

/// RFC 1321 section A.5: 900150983cd24fb0 d6963f7d28e17f72, words little-endian.
#[test]
fn md5_of_abc() {
    let initial = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let digest = [0x9850_0190, 0xb04f_d23c, 0x7d3f_96d6, 0x727f_e128];
    assert_eq!(md5_compress(initial, &abc(56)), digest);
}
