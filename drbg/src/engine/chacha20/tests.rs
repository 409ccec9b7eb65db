use super::{BLOCK_BYTES, Width, keystream};
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use std::panic::catch_unwind;

/// Blocks in the widest batch of any width.
const WIDEST: usize = 32;

/// Longer than two of the widest batches, and not a whole number of blocks.
const LONG: usize = (2 * WIDEST + 2) * BLOCK_BYTES + 5;

const KEY: [u8; 32] = *b"squall tests the ChaCha20 widths";
const NONCE: [u8; 12] = *b"twelve bytes";

/// The step between the cases that a test runs: Miri takes a thousand times as long.
const STEP: usize = if cfg!(miri) { 29 } else { 1 };

fn available() -> impl Iterator<Item = Width> {
    Width::ALL
        .iter()
        .copied()
        .filter(|width| width.is_available())
}

fn stream(width: Width, key: &[u8; 32], nonce: &[u8; 12], counter: u32, length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    width.keystream(key, nonce, counter, &mut out);
    out
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let (pairs, _) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.iter().map(byte).collect()
}

/// Asserts that every width's keystream starts with `expected`, in a request of exactly that length
/// and in longer ones that reach every batch size.
fn assert_starts_with(key: &[u8; 32], nonce: &[u8; 12], counter: u32, expected: &[u8]) {
    for width in available() {
        for blocks in [0, 3, 7, 15, 2 * WIDEST] {
            let length = expected.len() + blocks * BLOCK_BYTES;
            let out = stream(width, key, nonce, counter, length);
            assert_eq!(out[..expected.len()], *expected, "{width:?} {length}");
        }
    }
}

fn counting_key() -> [u8; 32] {
    std::array::from_fn(|i| i as u8)
}

#[test]
fn rfc8439_2_3_2_block() {
    let nonce = [0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0];
    let expected = hex(
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e
         d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    );
    assert_starts_with(&counting_key(), &nonce, 1, &expected);
}

#[test]
fn rfc8439_2_4_2_cipher() {
    let nonce = [0, 0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 0, 0];
    let plaintext = b"Ladies and Gentlemen of the class of '99: If I could offer you only one \
        tip for the future, sunscreen would be it.";
    let ciphertext = hex(
        "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b
         f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8
         07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736
         5af90bbf74a35be6b40b8eedf2785e42874d",
    );
    assert_eq!(plaintext.len(), ciphertext.len());
    let xor: Vec<u8> = plaintext
        .iter()
        .zip(ciphertext)
        .map(|(p, c)| p ^ c)
        .collect();
    assert_starts_with(&counting_key(), &nonce, 1, &xor);
}

#[test]
fn rfc8439_a_1_blocks() {
    let zero_key = [0; 32];
    let mut last_bit_key = zero_key;
    last_bit_key[31] = 1;
    let mut second_byte_key = zero_key;
    second_byte_key[1] = 0xff;
    let zero_nonce = [0; 12];
    let mut second_bit_nonce = zero_nonce;
    second_bit_nonce[11] = 2;
    let vectors = [
        (
            zero_key,
            zero_nonce,
            0,
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
             da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        ),
        (
            zero_key,
            zero_nonce,
            1,
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed
             29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
        ),
        (
            last_bit_key,
            zero_nonce,
            1,
            "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a
             8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
        ),
        (
            second_byte_key,
            zero_nonce,
            2,
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca
             13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
        ),
        (
            zero_key,
            second_bit_nonce,
            0,
            "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7
             8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
        ),
    ];
    for (key, nonce, counter, expected) in vectors {
        assert_starts_with(&key, &nonce, counter, &hex(expected));
    }
}

/// The last blocks that the counter can number: test 35 of Wycheproof's `chacha20_counter_test.json`. OpenSSL agrees.
#[test]
fn wycheproof_last_blocks() {
    let expected = hex(
        "032cc123482c31711f94c941af5ab1f4155784332ed5348fe79aec5ead4c06c3
         f13c280d8cc49925e4a6a5922ec80e13a4cdfa840c70a1427a3cb699166991a5
         ace4cd09e294d1912d4ad205d06f95d9c2f2bfcf453e8753f128765b62215f4d
         92c74f2f626c6a640c0b1284d839ec81f1696281dafc3e684593937023b58b1d",
    );
    for width in available() {
        let out = stream(width, &[0; 32], &[0; 12], u32::MAX - 1, expected.len());
        assert_eq!(out, expected, "{width:?}");
    }
}

/// Covers every length, at mostly unaligned addresses, and checks that only the slice is written.
#[test]
fn widths_agree_at_every_length() {
    let expected = stream(Width::Scalar, &KEY, &NONCE, 7, LONG);
    for width in available() {
        for length in (0..=LONG).step_by(STEP * STEP) {
            let start = 64 + length * 7 % 64;
            let mut out = vec![0xa5; start + length + 64];
            width.keystream(&KEY, &NONCE, 7, &mut out[start..start + length]);
            let (before, rest) = out.split_at(start);
            let (written, after) = rest.split_at(length);
            assert!(written == &expected[..length], "{width:?} {length}");
            assert!(before.iter().chain(after).all(|&byte| byte == 0xa5));
        }
    }
}

#[test]
fn widths_agree_at_every_alignment() {
    let expected = stream(Width::Scalar, &KEY, &NONCE, 0, LONG);
    let mut out = vec![0; LONG + 128];
    let aligned = out.as_ptr().align_offset(64);
    for width in available() {
        for start in (aligned..aligned + 64).step_by(STEP) {
            let out = &mut out[start..start + LONG];
            out.fill(0);
            width.keystream(&KEY, &NONCE, 0, out);
            assert!(out == expected, "{width:?} {start}");
        }
    }
}

/// Each request ends with the last block that the counter can number.
#[test]
fn widths_agree_up_to_the_last_block() {
    for blocks in (1..=2 * WIDEST as u32 + 2).step_by(STEP) {
        let first = u32::MAX - (blocks - 1);
        let one = |counter| stream(Width::Scalar, &KEY, &NONCE, counter, BLOCK_BYTES);
        let expected: Vec<u8> = (first..=u32::MAX).flat_map(one).collect();
        for width in available() {
            for length in [expected.len(), expected.len() - 13] {
                let out = stream(width, &KEY, &NONCE, first, length);
                assert!(out == expected[..length], "{width:?} {length}");
            }
        }
    }
}

#[test]
fn block_counter_never_wraps() {
    for width in available() {
        assert_eq!(stream(width, &KEY, &NONCE, u32::MAX, 0), []);
        for blocks in (1..=WIDEST as u32).step_by(STEP) {
            let first = u32::MAX - (blocks - 1);
            let too_long = blocks as usize * BLOCK_BYTES + 1;
            let outcome = catch_unwind(|| stream(width, &KEY, &NONCE, first, too_long));
            assert!(outcome.is_err(), "{width:?} {blocks}");
        }
    }
}

#[test]
fn split_requests_equal_one_request() {
    let whole = stream(Width::Scalar, &KEY, &NONCE, 3, LONG);
    for width in available() {
        for blocks in (0..LONG / BLOCK_BYTES).step_by(STEP) {
            let mut out = vec![0; LONG];
            let (head, tail) = out.split_at_mut(blocks * BLOCK_BYTES);
            width.keystream(&KEY, &NONCE, 3, head);
            width.keystream(&KEY, &NONCE, 3 + blocks as u32, tail);
            assert!(out == whole, "{width:?} {blocks}");
        }
    }
}

#[test]
fn agrees_with_the_chacha20_crate() {
    let mut seed = [0x5a; 48];
    for length in [1, 64, 65, 200, 511, 1024, 1500, 2048, 4096, LONG] {
        keystream(&KEY, &NONCE, length as u32, &mut seed);
        let (key, rest) = seed.split_first_chunk::<32>().unwrap();
        let (nonce, rest) = rest.split_first_chunk::<12>().unwrap();
        let counter = u32::from_le_bytes(rest.try_into().unwrap()) >> 1;
        let mut expected = vec![0; length];
        let mut cipher = chacha20::ChaCha20::new(key.into(), nonce.into());
        cipher.seek(u64::from(counter) * BLOCK_BYTES as u64);
        cipher.apply_keystream(&mut expected);
        for width in available() {
            let out = stream(width, key, nonce, counter, length);
            assert!(out == expected, "{width:?} {length}");
        }
        let mut out = vec![0; length];
        keystream(key, nonce, counter, &mut out);
        assert!(out == expected, "default {length}");
    }
}

#[test]
fn default_is_the_widest_available() {
    let widest = Width::widest();
    println!("widest here: {widest:?}");
    assert_eq!(Some(widest), available().next());
    assert!(Width::Scalar.is_available());
}
