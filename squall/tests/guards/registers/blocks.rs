//! Searches the registers and the stack after calls of `Stream`, of `hazmat` and of the traits of `rand_core`.

use std::hint::black_box;
use std::mem::{MaybeUninit, transmute};

use chacha20::cipher::{KeyIvInit, StreamCipher};
use rand::rand_core::{SeedableRng, TryRng};
use squall::hazmat::{Aes256, CtrDrbg, CtrDrbgDf, FastKeyErasure, Keystream, Stores};
use squall::{Engine, Stream};
use squall_drbg::Seed;
use squall_reference::CtrDrbg as SlowCtrDrbg;

use super::Finding;
use super::dump::{Traces, traces_after};
use super::search::{Key, find_secrets, find_words, key_of};
use crate::aes256::round_keys;
use crate::common::drbg::SlowCtrDrbgDf;
use crate::common::requests::Drbg;
use crate::stack;

/// Where secrets are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Registers,
    Stack,
}

/// What `Stream`, `hazmat` and the traits of `rand_core` leave there.
pub fn building_blocks(place: Place) -> Vec<Finding> {
    let mut findings = Vec::new();
    for engine in Engine::available() {
        let mut report = |request: &str, traces: &Traces, secrets: &Secrets, out: &[u8]| {
            findings.push(Finding {
                engine,
                request: request.to_owned(),
                leaked: secrets.find(place, engine, traces, out),
            });
        };
        if engine.is_aes() {
            keystreams(engine, &mut report);
            streams(engine, &mut report);
            ctr_drbg(engine, &mut report);
            ctr_drbg_df(engine, &mut report);
        } else {
            fast_key_erasure(&mut report);
        }
        if engine == Engine::best_aes() {
            behind_traits(&mut report);
        }
    }
    findings
}

/// Takes the name of a request, its traces, the secrets that it used, and its output.
type Report<'a> = &'a mut dyn FnMut(&str, &Traces, &Secrets, &[u8]);

/// What must not be left: keys, and words of seeds and of V.
struct Secrets {
    keys: Vec<Key>,
    words: Vec<u64>,
}

impl Secrets {
    fn of_keys(keys: &[&[u8; 32]]) -> Secrets {
        let keys = keys.iter().map(|key| key_of(key)).collect();
        Secrets {
            keys,
            words: Vec::new(),
        }
    }

    fn of_bytes(bytes: &[u8]) -> Secrets {
        let words = bytes.as_chunks().0.iter();
        Secrets {
            keys: Vec::new(),
            words: words.map(|&word| u64::from_ne_bytes(word)).collect(),
        }
    }

    fn of_states(states: &[&SlowCtrDrbg]) -> Secrets {
        let mut secrets = Secrets::of_keys(&[]);
        for state in states {
            let v = [state.v.to_be_bytes(), state.v.to_le_bytes()].concat();
            secrets.words.extend(Secrets::of_bytes(&v).words);
            secrets
                .keys
                .push(key_of(state.key.as_slice().try_into().unwrap()));
        }
        secrets
    }

    fn find(&self, place: Place, engine: Engine, traces: &Traces, out: &[u8]) -> Option<String> {
        match place {
            Place::Registers => find_secrets(engine, &traces.registers, &self.keys, out)
                .or_else(|| find_words(&traces.registers, &self.words)),
            Place::Stack => {
                let schedules = self.keys.iter().flat_map(|key| match engine.is_aes() {
                    true => round_keys(key),
                    false => key.to_vec(),
                });
                let words = schedules.chain(self.words.iter().copied());
                let depth = stack::find_words(&traces.stack, words)?;
                Some(format!("a word at a depth of {depth} bytes"))
            }
        }
    }
}

/// What is left where something is made: in the registers, and on the stack once it was dropped.
fn making<T>(make: impl Fn() -> T) -> Traces {
    let make: &dyn Fn() -> T = &make;
    // SAFETY: a `MaybeUninit<T>` has the ABI of a `T` (its documentation).
    let make: &dyn Fn() -> MaybeUninit<T> = unsafe { transmute(make) };
    // A call that the compiler does not see through makes the value in its place: a move would leave a copy.
    let make = black_box(make);
    let Traces { registers, .. } = traces_after(|| _ = black_box(&make()));
    let Traces { stack, .. } = traces_after(|| {
        let mut value = make();
        // SAFETY: it was made, and is dropped once.
        unsafe { black_box(&mut value).assume_init_drop() };
    });
    Traces { registers, stack }
}

fn keystreams(engine: Engine, report: Report) {
    let key: [u8; 32] = kernel_bytes();
    let secrets = Secrets::of_keys(&[&key]);
    let make = || Keystream::<Aes256>::new(&key, engine);
    report("Keystream::new", &making(make), &secrets, &[]);
    let keystream = make().unwrap();
    let mut out = vec![0; 4096 + 24];
    let traces = traces_after(|| keystream.fill(7, &mut out, Stores::Cached));
    report("Keystream::fill", &traces, &secrets, &out);
    let make = || squall_drbg::Keystream::<Aes256>::new(&key, engine);
    report("squall_drbg::Keystream::new", &making(make), &secrets, &[]);
    let mut keystream = make().unwrap();
    let traces = traces_after(|| keystream.set_key(&key));
    report("squall_drbg::Keystream::set_key", &traces, &secrets, &[]);
    let traces = traces_after(|| keystream.fill(7, &mut out, Stores::Cached));
    report("squall_drbg::Keystream::fill", &traces, &secrets, &out);
}

fn streams(engine: Engine, report: Report) {
    let key: [u8; 32] = kernel_bytes();
    let secrets = Secrets::of_keys(&[&key]);
    let make = || Stream::new_on(engine, &key);
    report("Stream::new", &making(make), &secrets, &[]);
    let mut stream = make().unwrap();
    let mut out = vec![0; 4096 + 7];
    let traces = traces_after(|| stream.fill(&mut out).unwrap());
    report("Stream::fill", &traces, &secrets, &out[..4096]);
    // Of the block's first word, only the last byte leaves.
    let mut block = [0; 8];
    let start = stream.position().unwrap() / 16 * 16;
    let mut other = make().unwrap();
    other.seek(start);
    other.fill(&mut block).unwrap();
    let words = Secrets::of_bytes(&block).words;
    let secrets = Secrets { words, ..secrets };
    let traces = traces_after(|| stream.fill(&mut out[..40]).unwrap());
    report("Stream::fill from within a block", &traces, &secrets, &[]);
}

fn ctr_drbg(engine: Engine, report: Report) {
    let entropy: [u8; 48] = kernel_bytes();
    let additional: [u8; 16] = kernel_bytes();
    let make = || CtrDrbg::<Aes256>::instantiate_on(engine, &entropy, &[]);
    let mut drbg = make().unwrap();
    let mut model = SlowCtrDrbg::instantiate(32, &entropy, &[]).unwrap();
    let secrets = Secrets::of_states(&[&model]);
    report("CtrDrbg::instantiate", &making(make), &secrets, &[]);

    let mut out = [0; 64];
    let before = model.clone();
    let traces = traces_after(|| drbg.generate(&mut out, &additional).unwrap());
    let mut mixed = model.clone();
    mixed.update(&[additional.as_slice(), &[0; 32]].concat());
    assert_eq!(out[..], model.generate(out.len(), &additional).unwrap());
    let secrets = Secrets::of_states(&[&before, &mixed, &model]);
    report("CtrDrbg::generate", &traces, &secrets, &out);

    let before = model.clone();
    let traces = traces_after(|| drbg.reseed(&entropy, &[]).unwrap());
    model.reseed(&entropy, &[]).unwrap();
    let secrets = Secrets::of_states(&[&before, &model]);
    report("CtrDrbg::reseed", &traces, &secrets, &[]);

    let before = model.clone();
    let mut generate = || drbg.generate_with_prediction_resistance(&mut out, &entropy, &[]);
    let traces = traces_after(|| generate().unwrap());
    model.reseed(&entropy, &[]).unwrap();
    let reseeded = model.clone();
    assert_eq!(out[..], model.generate(out.len(), &[]).unwrap());
    let secrets = Secrets::of_states(&[&before, &reseeded, &model]);
    report("CtrDrbg, prediction resistance", &traces, &secrets, &out);
}

fn ctr_drbg_df(engine: Engine, report: Report) {
    let entropy: [u8; 48] = kernel_bytes();
    let make = || CtrDrbgDf::<Aes256>::instantiate_on(engine, &entropy, &[], &[]);
    let mut drbg = make().unwrap();
    let mut model = SlowCtrDrbgDf::instantiate(32, &entropy, &[], &[]).unwrap();
    let secrets = Secrets::of_states(&[&model.core]);
    report("CtrDrbgDf::instantiate", &making(make), &secrets, &[]);

    let mut out = [0; 64];
    let before = model.core.clone();
    let traces = traces_after(|| drbg.generate(&mut out, &entropy).unwrap());
    assert_eq!(out[..], model.generate(out.len(), &entropy).unwrap());
    let secrets = Secrets::of_states(&[&before, &model.core]);
    report("CtrDrbgDf::generate", &traces, &secrets, &out);

    let before = model.core.clone();
    let traces = traces_after(|| drbg.reseed(&entropy, &[]).unwrap());
    model.reseed(&entropy, &[]).unwrap();
    let secrets = Secrets::of_states(&[&before, &model.core]);
    report("CtrDrbgDf::reseed", &traces, &secrets, &[]);

    let before = model.core.clone();
    let mut generate = || drbg.generate_with_prediction_resistance(&mut out, &entropy, &[]);
    let traces = traces_after(|| generate().unwrap());
    model.reseed(&entropy, &[]).unwrap();
    let reseeded = model.core.clone();
    assert_eq!(out[..], model.generate(out.len(), &[]).unwrap());
    let secrets = Secrets::of_states(&[&before, &reseeded, &model.core]);
    report("CtrDrbgDf, prediction resistance", &traces, &secrets, &out);
}

/// Several lengths, because it depends on how the C library copies which of them leaves a key that is
/// not cleared.
fn fast_key_erasure(report: Report) {
    let key: [u8; 32] = kernel_bytes();
    let secrets = Secrets::of_keys(&[&key]);
    let make = || FastKeyErasure::from_seed(key);
    report("FastKeyErasure::from_seed", &making(make), &secrets, &[]);
    for len in [0, 1, 32, 100, 4096] {
        let key: [u8; 32] = kernel_bytes();
        let make = || FastKeyErasure::new(&key);
        let secrets = Secrets::of_keys(&[&key]);
        report("FastKeyErasure::new", &making(make), &secrets, &[]);
        let mut generator = make();
        let keys = Secrets::of_keys(&[&key, &next_key(&key, &[0; 32])]);
        let mut out = vec![0; len];
        let traces = traces_after(|| generator.generate(&mut out, &[]).unwrap());
        report("FastKeyErasure::generate", &traces, &keys, &[]);

        let (key, entropy) = (next_key(&key, &[0; 32]), kernel_bytes());
        let traces = traces_after(|| generator.reseed(&entropy));
        let keys = Secrets::of_keys(&[&key, &next_key(&key, &entropy)]);
        report("FastKeyErasure::reseed", &traces, &keys, &[]);
    }
}

/// The key after this one, if this is mixed in.
fn next_key(key: &[u8; 32], input: &[u8; 32]) -> [u8; 32] {
    let mut next = *input;
    chacha20::ChaCha20::new(key.into(), &[0; 12].into()).apply_keystream(&mut next);
    next
}

/// The traits use the best engine.
fn behind_traits(report: Report) {
    let bytes: [u8; 48] = kernel_bytes();
    let of_seed = Secrets::of_bytes(&bytes);
    let make_seed = || Seed::<Aes256>::from(bytes);
    report("Seed::from", &making(make_seed), &of_seed, &[]);
    let seed = make_seed();
    report("Seed::clone", &making(|| seed.clone()), &of_seed, &[]);

    let make = || CtrDrbg::<Aes256>::from_seed(seed.clone());
    let mut drbg = make();
    let mut model = SlowCtrDrbg::instantiate(32, &bytes, &[]).unwrap();
    let mut secrets = Secrets::of_states(&[&model]);
    secrets.words.extend(of_seed.words);
    report("CtrDrbg::from_seed", &making(make), &secrets, &[]);

    let before = model.clone();
    let traces = traces_after(|| _ = black_box(drbg.try_next_u64()));
    model.generate(8, &[]).unwrap();
    let secrets = Secrets::of_states(&[&before, &model]);
    report("CtrDrbg::try_next_u64", &traces, &secrets, &[]);
}

/// Bytes from the kernel, because a key must not come from the code under test.
fn kernel_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // SAFETY: the buffer is that long.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(got, bytes.len() as isize);
    bytes
}
