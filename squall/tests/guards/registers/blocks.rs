//! Searches the registers after calls of `Stream` and `hazmat`.

use chacha20::cipher::{KeyIvInit, StreamCipher};
use squall::hazmat::{Aes256, CtrDrbg, FastKeyErasure, Keystream, Stores};
use squall::{Engine, Stream};

use super::Finding;
use super::dump::{Registers, registers_after};
use super::search::{Key, find_secrets, key_of};
use crate::ctr;

pub fn building_blocks() -> Vec<Finding> {
    let mut findings = Vec::new();
    for engine in Engine::available() {
        let mut report = |request: &str, registers: &Registers, known: &[Key], out: &[u8]| {
            findings.push(Finding {
                engine,
                request: request.to_owned(),
                leaked: find_secrets(engine, registers, known, out),
            });
        };
        if engine.is_aes() {
            keystreams(engine, &mut report);
            streams(engine, &mut report);
            ctr_drbg(engine, &mut report);
        } else {
            fast_key_erasure(&mut report);
        }
    }
    findings
}

/// Takes the name of a request, the registers after it, keys that it may have used, and its output.
type Report<'a> = &'a mut dyn FnMut(&str, &Registers, &[Key], &[u8]);

fn keystreams(engine: Engine, report: Report) {
    let key: [u8; 32] = kernel_bytes();
    let mut made = None;
    let registers = registers_after(|| made = Some(Keystream::<Aes256>::new(&key, engine)));
    report("Keystream::new", &registers, &[key_of(&key)], &[]);
    let keystream = made.expect("it was made").unwrap();
    let mut out = vec![0; 4096 + 24];
    let registers = registers_after(|| keystream.fill(7, &mut out, Stores::Cached));
    report("Keystream::fill", &registers, &[key_of(&key)], &out);
}

fn streams(engine: Engine, report: Report) {
    let key: [u8; 32] = kernel_bytes();
    let mut made = None;
    let registers = registers_after(|| made = Some(Stream::new_on(engine, &key)));
    report("Stream::new", &registers, &[key_of(&key)], &[]);
    let mut stream = made.expect("it was made").unwrap();
    let mut out = vec![0; 4096 + 7];
    let registers = registers_after(|| stream.fill(&mut out).unwrap());
    report("Stream::fill", &registers, &[key_of(&key)], &out[..4096]);
    let registers = registers_after(|| stream.fill(&mut out[..40]).unwrap());
    report(
        "Stream::fill from within a block",
        &registers,
        &[key_of(&key)],
        &[],
    );
}

fn ctr_drbg(engine: Engine, report: Report) {
    let entropy: [u8; 48] = kernel_bytes();
    let additional = [1; 16];
    let mut state = State::zeroed().updated(&entropy);
    let mut drbg = CtrDrbg::<Aes256>::instantiate_on(engine, &entropy, &[]).unwrap();
    let mut out = [0; 64];
    let registers = registers_after(|| drbg.generate(&mut out, &additional).unwrap());
    let used = state.updated(&additional);
    assert_eq!(out[..], used.keystream(out.len()));
    let after = used.skipped(4).updated(&additional);
    report(
        "CtrDrbg::generate",
        &registers,
        &[state.key(), used.key(), after.key()],
        &out,
    );
    state = after;
    let registers = registers_after(|| drbg.reseed(&entropy, &[]).unwrap());
    let after = state.updated(&entropy);
    report(
        "CtrDrbg::reseed",
        &registers,
        &[state.key(), after.key()],
        &[],
    );
    let registers = registers_after(|| {
        std::hint::black_box(CtrDrbg::<Aes256>::instantiate_on(engine, &entropy, &[]).is_ok());
    });
    let made = State::zeroed().updated(&entropy);
    report("CtrDrbg::instantiate", &registers, &[made.key()], &[]);
}

/// CTR_DRBG's state (SP 800-90A section 10.2.1), slow and obvious.
struct State {
    key: [u8; 32],
    v: u128,
}

impl State {
    fn zeroed() -> State {
        State { key: [0; 32], v: 0 }
    }

    fn keystream(&self, len: usize) -> Vec<u8> {
        ctr::keystream::<Aes256>(&self.key, self.v.wrapping_add(1), len)
    }

    fn skipped(&self, blocks: u128) -> State {
        State {
            key: self.key,
            v: self.v.wrapping_add(blocks),
        }
    }

    /// CTR_DRBG_Update, with zeros behind the data.
    fn updated(&self, data: &[u8]) -> State {
        let mut next = self.keystream(48);
        next.iter_mut()
            .zip(data)
            .for_each(|(byte, data)| *byte ^= data);
        let (key, v) = next.split_first_chunk().expect("48 bytes hold a key");
        State {
            key: *key,
            v: u128::from_be_bytes(v.try_into().expect("a block")),
        }
    }

    fn key(&self) -> Key {
        key_of(&self.key)
    }
}

/// Several lengths, because it depends on how the C library copies which of them leaves a key that is
/// not cleared.
fn fast_key_erasure(report: Report) {
    for len in [0, 1, 32, 100, 4096] {
        let key: [u8; 32] = kernel_bytes();
        let mut next_key = [0; 32];
        chacha20::ChaCha20::new(&key.into(), &[0; 12].into()).apply_keystream(&mut next_key);
        let mut generator = FastKeyErasure::new(&key);
        let mut out = vec![0; len];
        let registers = registers_after(|| generator.generate(&mut out, &[]).unwrap());
        report(
            "FastKeyErasure::generate",
            &registers,
            &[key_of(&key), key_of(&next_key)],
            &[],
        );
    }
}

/// Bytes from the kernel, because a key must not come from the code under test.
fn kernel_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // SAFETY: the buffer is that long.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(got, bytes.len() as isize);
    bytes
}
