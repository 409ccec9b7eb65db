//! Tests of the old RNG's public interface; and SHA-1 and MD5 compression, written as in their standards, to
//! test against.

use super::pool::Pool;
use super::*;

const INITIAL: &[u8] = b"what a kernel knows at boot";

/// A generator after 326 events of 11 bits: 3586 bits of credit, which are 448 bytes.
fn with_credit() -> Legacy {
    let legacy = Legacy::new(INITIAL);
    let steps = [4096, 2048].into_iter().cycle().take(326);
    let mut now = 0;
    for step in steps {
        now += step;
        legacy.add_timer_event(now, 0, 0);
    }
    legacy
}

fn counts(legacy: &Legacy) -> [u32; 3] {
    let EntropyCounts {
        input,
        blocking,
        nonblocking,
    } = legacy.entropy_count();
    [input, blocking, nonblocking]
}

/// Without credit nothing is transferred, and /dev/urandom is its pool's extractions.
#[test]
fn urandom_without_credit() {
    let mut pool = Pool::nonblocking();
    pool.mix(INITIAL);
    let mut expected = [0; 25];
    pool.extract_to(&mut expected, None);
    let mut out = [0; 25];
    Legacy::new(INITIAL).urandom(&mut out);
    assert_eq!(out, expected);
}

/// Three transfers of 128 bytes and one of 64, each read at once.
#[test]
fn random_gives_what_was_credited() {
    let legacy = with_credit();
    assert_eq!(counts(&legacy), [3586, 0, 0]);
    let mut out = [0; 1000];
    assert_eq!(legacy.random(&mut out), 448);
    assert_eq!(out[448..], [0; 552]);
    assert_eq!(counts(&legacy), [2, 0, 0]);
    assert_eq!(legacy.random(&mut out), 0);
    assert_eq!(legacy.random(&mut []), 0);
}

/// A read that is split in two gives different bytes, because it transfers differently, but as many.
#[test]
fn reads_of_random_add_up() {
    let (whole, parts) = (with_credit(), with_credit());
    let mut out = [0; 40];
    assert_eq!(whole.random(&mut out), 40);
    assert_eq!(
        parts.random(&mut out[..20]) + parts.random(&mut out[20..]),
        40
    );
    assert_eq!(counts(&whole), counts(&parts));
}

/// The bytes of a whole read: as many as are asked for are moved at once, from the input pool
/// into the output pool `pool`, and then extracted from there.
fn moved_and_extracted<const LEN: usize>(pool: impl FnOnce() -> Pool<32>) -> [u8; LEN] {
    let (mut input, mut output) = (with_credit().lock().input.clone(), pool());
    output.mix(INITIAL);
    let (mut moved, mut out) = ([0; LEN], [0; LEN]);
    input.extract_to(&mut moved, None);
    output.mix(&moved);
    output.extract_to(&mut out, None);
    out
}

/// 64 bytes are moved, 512 bits, and read at once.
#[test]
fn a_read_of_urandom_moves_as_much_as_it_reads() {
    let legacy = with_credit();
    let mut out = [0; 64];
    legacy.urandom(&mut out);
    assert_eq!(counts(&legacy), [3586 - 512, 0, 0]);
    assert_eq!(out, moved_and_extracted(Pool::nonblocking));
}

#[test]
fn a_read_of_random_moves_as_much_as_it_reads() {
    let legacy = with_credit();
    let mut out = [0; 128];
    assert_eq!(legacy.random(&mut out), 128);
    assert_eq!(counts(&legacy), [3586 - 1024, 0, 0]);
    assert_eq!(out, moved_and_extracted(Pool::blocking));
}

#[test]
fn a_copy_is_independent() {
    let legacy = with_credit();
    let copy = legacy.clone();
    let read = |legacy: &Legacy| {
        let mut out = [0; 40];
        legacy.urandom(&mut out);
        out
    };
    assert_eq!(read(&legacy), read(&copy));
    // The input pool still has credit, so what is mixed in reaches /dev/urandom.
    copy.mix(b"x");
    assert_ne!(read(&legacy), read(&copy));
}

#[test]
fn mixing_is_not_credited() {
    let legacy = Legacy::new(INITIAL);
    legacy.mix(&[0x55; 1000]);
    assert_eq!(counts(&legacy), [0, 0, 0]);
}

#[test]
fn hardware_randomness_is_xored_to_output() {
    let urandom = |legacy: Legacy| {
        let mut out = [0; 20];
        legacy.urandom(&mut out);
        out
    };
    let plain = urandom(Legacy::new(INITIAL));
    let masked = urandom(Legacy::new(INITIAL).with_hardware_random(|| Some(u64::MAX)));
    assert_eq!(masked, plain.map(|byte| !byte));
}

#[test]
fn hardware_randomness_is_part_of_transfers() {
    let random = |legacy: Legacy| {
        let mut out = [0; 10];
        assert_eq!(legacy.random(&mut out), 10);
        out
    };
    let plain = random(with_credit());
    let masked = random(with_credit().with_hardware_random(|| Some(u64::MAX)));
    assert_ne!(masked, plain.map(|byte| !byte));
}

#[test]
fn the_secret_of_get_random_int_comes_from_urandom() {
    let legacy = Legacy::new(INITIAL);
    let mut secret = [0; ints::SECRET_LEN];
    legacy.clone().urandom(&mut secret);
    legacy.draw_int_secret();
    let mut ints = ints::Ints::default();
    ints.set_secret(secret);
    assert_eq!(legacy.get_random_int(1, 2, 3), ints.next(1, 2, 3));
    assert_eq!(legacy.get_random_int(1, 2, 3), ints.next(1, 2, 3));
}

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
