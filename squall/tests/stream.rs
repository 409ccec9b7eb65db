//! `Stream`: OpenSSL's bytes at every offset, in any split of requests, on every engine, and an end after byte 2^64 - 1 that writes nothing past it.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use sha2::{Digest, Sha256};
use squall::hazmat::{Aes256, Keystream, Stores};
use squall::{Engine, Error, Stream};
use squall_reference::Aes;

use crate::common::answers::{array, bytes, read};
use crate::common::guarded::{Guarded, LINE};
use crate::suite::{Test, tests};

const SEED: [u8; 32] = *b"squall tests its seekable stream";

/// The last offset a stream can be moved to.
const LAST: u64 = u64::MAX;

fn stream(engine: Engine) -> Stream {
    Stream::new_on(engine, &SEED).expect("the engine is available")
}

/// What the stream of [`SEED`] holds at `offset`.
fn expected(offset: u64, len: usize) -> Vec<u8> {
    let skipped = (offset % 16) as usize;
    let mut blocks = Aes::new(&SEED).keystream(u128::from(offset / 16), skipped + len);
    blocks.split_off(skipped)
}

fn read_at(stream: &mut Stream, offset: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    stream.seek(offset);
    stream.fill(&mut out).expect("within the stream");
    out
}

fn offset_of(answer: &Value) -> u64 {
    let digits = answer["offset"].as_str().expect("a decimal string");
    digits.parse().expect("an offset")
}

fn bytes_are_those_of_openssl(engine: Engine) {
    let answers = read("stream.json");
    assert_eq!(answers.len(), 12);
    for answer in answers {
        let (offset, expected) = (offset_of(&answer), bytes(&answer, "bytes"));
        let mut stream = Stream::new_on(engine, &array(&answer, "seed")).unwrap();
        let out = read_at(&mut stream, offset, expected.len());
        assert_eq!(out, expected, "{answer}");
    }
}

/// The longer of the requests is written past the cache.
fn long_requests_are_those_of_openssl() {
    let answers = read("stream_digests.json");
    let len_of = |answer: &Value| answer["length"].as_u64().expect("a length") as usize;
    let longest = answers.iter().map(len_of).max();
    assert!(longest.is_some_and(|len| len > Stores::STREAMING_FROM));
    for answer in answers {
        let mut stream = Stream::new(&array(&answer, "seed"));
        let out = read_at(&mut stream, offset_of(&answer), len_of(&answer));
        assert_eq!(
            Sha256::digest(&out)[..],
            bytes(&answer, "sha256"),
            "{answer}"
        );
    }
}

fn a_request_past_the_cache_equals_small_ones(engine: Engine) {
    let len = Stores::STREAMING_FROM + 5;
    let mut small = vec![0; len];
    let mut any = Stream::new(&SEED);
    any.seek(11);
    for part in small.chunks_mut(1_000_003) {
        any.fill(part).unwrap();
    }
    assert!(small[..4096] == expected(11, 4096));
    let mut stream = stream(engine);
    let mut guarded = Guarded::new(0, len);
    for offset in [0, 5] {
        guarded.buffer().fill(0);
        let out = &mut guarded.buffer()[offset..];
        stream.seek(11);
        stream.fill(out).unwrap();
        assert!(*out == small[..len - offset], "offset {offset}");
        assert!(guarded.guards_are_intact(), "offset {offset}");
    }
}

fn positions_count_bytes(engine: Engine) {
    let mut stream = stream(engine);
    assert_eq!(stream.position(), Some(0));
    stream.fill(&mut [0; 21]).unwrap();
    assert_eq!(stream.position(), Some(21));
    stream.fill(&mut []).unwrap();
    assert_eq!(stream.position(), Some(21));
    stream.seek(1 << 40);
    stream.fill(&mut [0; 300]).unwrap();
    assert_eq!(stream.position(), Some((1 << 40) + 300));
    stream.seek(3);
    assert_eq!(stream.position(), Some(3));
}

fn every_first_and_last_byte_within_blocks(engine: Engine) {
    let whole = expected(0, 100);
    let mut stream = stream(engine);
    for offset in 0..34 {
        for len in 0..=whole.len() - offset {
            let mut guarded = Guarded::new(offset * len, len);
            stream.seek(offset as u64);
            stream.fill(guarded.buffer()).unwrap();
            let place = || format!("{len} bytes at {offset}");
            assert!(guarded.buffer() == &whole[offset..][..len], "{}", place());
            assert!(guarded.guards_are_intact(), "{}", place());
        }
    }
}

/// A length that is short as often as long.
fn random_len(rng: &mut StdRng) -> usize {
    let bits = rng.random_range(0..=12);
    rng.random_range(0..=1 << bits)
}

/// An offset at the start, the end, where a 32-bit block counter carries, or anywhere.
fn random_offset(rng: &mut StdRng) -> u64 {
    match rng.random_range(0..4) {
        0 => rng.random_range(0..1 << 16),
        1 => LAST - rng.random_range(0..1 << 17),
        2 => (1u64 << 36).wrapping_add_signed(rng.random_range(-(1 << 14)..1 << 14)),
        _ => rng.random(),
    }
}

fn any_split_equals_one_read(engine: Engine) {
    let mut stream = stream(engine);
    for case in 0..100 {
        let mut rng = StdRng::seed_from_u64(case);
        let offset = random_offset(&mut rng);
        let room = usize::try_from(LAST - offset).unwrap_or(usize::MAX);
        let whole = expected(offset, 8192.min(room));
        stream.seek(offset);
        let mut rest = &whole[..];
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(random_len(&mut rng).min(rest.len()));
            let mut guarded = Guarded::new(rng.random_range(0..LINE), part.len());
            stream.fill(guarded.buffer()).unwrap();
            assert!(guarded.buffer() == part, "case {case}");
            assert!(guarded.guards_are_intact(), "case {case}");
            rest = behind;
        }
    }
}

fn any_order_of_reads_gives_the_same_bytes(engine: Engine) {
    for case in 1000..1100 {
        let mut rng = StdRng::seed_from_u64(case);
        let mut stream = stream(engine);
        for _ in 0..8 {
            let offset = random_offset(&mut rng);
            let room = usize::try_from(LAST - offset).unwrap_or(usize::MAX);
            let expected = expected(offset, random_len(&mut rng).min(room));
            let out = read_at(&mut stream, offset, expected.len());
            assert!(out == expected, "case {case}, offset {offset}");
        }
    }
}

fn the_last_byte_is_served_and_none_after_it(engine: Engine) {
    let last = expected(LAST, 1);
    let mut stream = stream(engine);
    assert_eq!(read_at(&mut stream, LAST, 1), last);
    assert_eq!(stream.position(), None);
    stream.fill(&mut []).unwrap();
    assert_eq!(stream.fill(&mut [0]), Err(Error::EndOfStream));
    stream.seek(LAST);
    assert_eq!(stream.position(), Some(LAST));
    assert_eq!(read_at(&mut stream, LAST, 1), last);
}

fn a_request_past_the_end_writes_nothing_and_moves_nothing(engine: Engine) {
    let mut stream = stream(engine);
    for left in [1, 15, 16, 17, 100, 1089] {
        let offset = LAST - (left as u64 - 1);
        for too_long in [left + 1, left + 16, 5000] {
            let mut out = vec![0x5a; too_long];
            stream.seek(offset);
            assert_eq!(stream.fill(&mut out), Err(Error::EndOfStream));
            assert!(out.iter().all(|&byte| byte == 0x5a), "{left} left");
            assert_eq!(stream.position(), Some(offset), "{left} left");
        }
        let out = read_at(&mut stream, offset, left);
        assert!(out == expected(offset, left), "{left} left");
        assert_eq!(stream.position(), None, "{left} left");
    }
}

fn an_engine_that_cannot_serve_is_an_error() {
    let lacking = Engine::ALL.into_iter().filter(|e| !e.is_available());
    for engine in lacking.chain([Engine::ChaCha20]) {
        let unavailable = Error::EngineUnavailable(engine);
        assert_eq!(Stream::new_on(engine, &[0; 32]).unwrap_err(), unavailable);
        assert_eq!(
            Keystream::<Aes256>::new(&[0; 32], engine).unwrap_err(),
            unavailable
        );
    }
}

pub const TESTS: &[Test<fn()>] = tests![
    an_engine_that_cannot_serve_is_an_error,
    long_requests_are_those_of_openssl,
];

pub const ON_EACH_ENGINE: &[Test<fn(Engine)>] = tests![
    bytes_are_those_of_openssl,
    a_request_past_the_cache_equals_small_ones,
    positions_count_bytes,
    every_first_and_last_byte_within_blocks,
    any_split_equals_one_read,
    any_order_of_reads_gives_the_same_bytes,
    the_last_byte_is_served_and_none_after_it,
    a_request_past_the_end_writes_nothing_and_moves_nothing,
];
