//! Every engine against the slow reference: every length, every alignment, every
//! carry of the counter, both kinds of stores, and no byte written outside the buffer.
//!
//! The `aes` crate, which the portable engine uses, takes AES-NI itself where it finds it; `scripts/sanitize.sh` runs this
//! file with its constant-time code as well.

use squall_drbg::{
    Aes128, Aes256, Cipher, CtrDrbg, CtrDrbgDf, Engine, Error, Keystream, Stores, UnknownEngine,
};
use squall_reference::Aes;

use crate::common::guarded::{Guarded, LINE, a_write_outside_the_buffer_is_caught};
use crate::suite::{Test, step, tests};

/// Bytes of the largest batch of any engine: eight 512-bit vectors.
const BATCH: usize = 8 * 64;

/// More than two batches, and not a whole number of blocks.
const LONG: usize = 2 * BATCH + 65;

const STORES: [Stores; 2] = [Stores::Cached, Stores::Streaming];

/// A counter with a pattern in it, so that swapped halves and bytes show.
const COUNTER: u128 = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;

fn key<C: Cipher>() -> C::Key {
    let mut key = C::Key::default();
    for (byte, i) in key.as_mut().iter_mut().zip(1..) {
        *byte = i * 7;
    }
    key
}

fn reference<C: Cipher>() -> Aes {
    Aes::new(key::<C>().as_ref())
}

fn keyed<C: Cipher>(engine: Engine) -> Keystream<C> {
    Keystream::new(&key::<C>(), engine).expect("the engine is available")
}

/// Asserts that `keystream` writes `expected` into a buffer at this place, and nothing beside it.
fn assert_fills<C: Cipher>(
    keystream: &Keystream<C>,
    expected: &[u8],
    offset: usize,
    stores: Stores,
) {
    let len = expected.len();
    let mut guarded = Guarded::new(offset, len);
    keystream.fill(COUNTER, guarded.buffer(), stores);
    let place = || format!("{len} bytes, offset {offset}, {stores:?}");
    assert!(guarded.buffer() == expected, "keystream: {}", place());
    assert!(guarded.guards_are_intact(), "guard bytes: {}", place());
}

fn check_every_length<C: Cipher>(engine: Engine) {
    let expected = reference::<C>().keystream(COUNTER, LONG);
    let keyed = keyed::<C>(engine);
    for stores in STORES {
        for len in (0..=LONG).step_by(step(163)) {
            assert_fills(&keyed, &expected[..len], 0, stores);
            assert_fills(&keyed, &expected[..len], 5 * len, stores);
        }
    }
}

fn every_length_of_aes_128(engine: Engine) {
    check_every_length::<Aes128>(engine);
}

fn every_length_of_aes_256(engine: Engine) {
    check_every_length::<Aes256>(engine);
}

fn check_every_alignment<C: Cipher>(engine: Engine) {
    let lens = [1, 15, 16, 17, 63, 64, 65, 127, 129, 200, 511, 512, 513];
    let lens = lens.into_iter().chain([LONG - 1, LONG, 5000]);
    let expected = reference::<C>().keystream(COUNTER, 5000);
    let keyed = keyed::<C>(engine);
    for len in lens {
        for offset in (0..LINE).step_by(step(16)) {
            assert_fills(&keyed, &expected[..len], offset, Stores::Cached);
            assert_fills(&keyed, &expected[..len], offset, Stores::Streaming);
        }
    }
}

fn every_alignment_of_aes_128(engine: Engine) {
    check_every_alignment::<Aes128>(engine);
}

fn every_alignment_of_aes_256(engine: Engine) {
    check_every_alignment::<Aes256>(engine);
}

/// Widths of counters that carry too early or not at all. At 2^128 a correct counter wraps too.
const EDGES: [u32; 4] = [8, 32, 64, 128];

/// Blocks by which requests start before an edge: up to past the largest batch.
const BEFORE_EDGE: u128 = 35;

/// The edges at which `fill` does not write the keystream of AES-256, in requests that start each
/// number of blocks before the edge.
fn edges_missed(fill: impl Fn(u128, &mut [u8], Stores)) -> Vec<u32> {
    let is_missed = |bits: &u32| {
        let edge = 1u128.checked_shl(*bits).unwrap_or(0);
        let start = edge.wrapping_sub(BEFORE_EDGE);
        let expected = reference::<Aes256>().keystream(start, LONG);
        let fills = |before: usize, stores, offset| {
            let expected = &expected[(BEFORE_EDGE as usize - before) * 16..];
            let mut guarded = Guarded::new(offset, expected.len());
            let counter = edge.wrapping_sub(before as u128);
            fill(counter, guarded.buffer(), stores);
            guarded.buffer() == expected && guarded.guards_are_intact()
        };
        (0..=BEFORE_EDGE as usize).any(|before| {
            !(fills(before, Stores::Cached, 3)
                && fills(before, Stores::Streaming, 0)
                && fills(before, Stores::Streaming, 16)
                && fills(before, Stores::Streaming, 48))
        })
    };
    EDGES.into_iter().filter(is_missed).collect()
}

fn the_counter_carries_through_128_bits(engine: Engine) {
    let keyed = keyed::<Aes256>(engine);
    let missed = edges_missed(|counter, out, stores| keyed.fill(counter, out, stores));
    assert!(missed.is_empty(), "it misses 2^{missed:?}");
}

/// Counter mode whose counter carries only within its low `bits`.
fn narrow_fill(bits: u32, counter: u128, out: &mut [u8]) {
    let low = (1u128 << bits) - 1;
    let blocks = out.len().div_ceil(16) as u128;
    let counters = (0..blocks).map(|i| (counter & !low) | (counter.wrapping_add(i) & low));
    let cipher = reference::<Aes256>();
    let bytes = counters.flat_map(|counter| cipher.encrypt(counter.to_be_bytes()));
    out.iter_mut()
        .zip(bytes)
        .for_each(|(out, byte)| *out = byte);
}

fn a_counter_that_carries_wrongly_is_caught() {
    let missed_by = |bits| edges_missed(|counter, out, _| narrow_fill(bits, counter, out));
    assert_eq!(missed_by(8), [8, 32, 64, 128]);
    assert_eq!(missed_by(32), [32, 64, 128]);
    assert_eq!(missed_by(64), [64, 128]);
    let reference = |counter, out: &mut [u8], _| {
        out.copy_from_slice(&reference::<Aes256>().keystream(counter, out.len()));
    };
    assert!(edges_missed(reference).is_empty());
}

fn an_engine_that_cannot_serve_is_an_error() {
    let lacking = Engine::ALL.into_iter().filter(|e| !e.is_available());
    for engine in lacking.chain([Engine::ChaCha20]) {
        let unavailable = Error::EngineUnavailable(engine);
        assert_eq!(
            Keystream::<Aes128>::new(&[0; 16], engine).unwrap_err(),
            unavailable
        );
        let drbg = CtrDrbg::<Aes256>::instantiate_on(engine, &[0; 48], b"");
        assert_eq!(drbg.unwrap_err(), unavailable);
        let drbg = CtrDrbgDf::<Aes256>::instantiate_on(engine, &[0; 32], b"", b"");
        assert_eq!(drbg.unwrap_err(), unavailable);
    }
}

fn names_are_read_as_they_are_written() {
    for engine in Engine::ALL {
        assert_eq!(engine.to_string().parse(), Ok(engine));
        assert_eq!(engine.to_string(), engine.name());
    }
    assert_eq!("sse".parse::<Engine>(), Err(UnknownEngine));
    let all = "vaes512, vaes256, aesni, arm-aes, chacha20, portable";
    assert!(UnknownEngine.to_string().ends_with(all));
}

fn the_best_engines_are_available() {
    assert!(Engine::best().is_available());
    assert!(Engine::best_aes().is_available() && Engine::best_aes().is_aes());
    assert!(Engine::available().any(|e| e == Engine::Portable));
    assert!(Engine::available().any(|e| e == Engine::ChaCha20));
}

pub const TESTS: &[Test<fn()>] = tests![
    a_write_outside_the_buffer_is_caught,
    a_counter_that_carries_wrongly_is_caught,
    an_engine_that_cannot_serve_is_an_error,
    names_are_read_as_they_are_written,
    the_best_engines_are_available,
];

pub const ON_EACH_ENGINE: &[Test<fn(Engine)>] = tests![
    every_length_of_aes_128,
    every_length_of_aes_256,
    every_alignment_of_aes_128,
    every_alignment_of_aes_256,
    the_counter_carries_through_128_bits,
];
