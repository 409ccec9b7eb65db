//! Every engine gives the bytes of `squall-reference`: at every length, wherever the counter carries, and in any sequence of
//! requests. A generator with a mistake does not.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use squall_drbg::{Aes128, Aes256, Cipher, CtrDrbg, Engine, Error, MAX_REQUEST};
use squall_reference::{Aes, CtrDrbg as Reference};

use crate::common::requests::Drbg;
use crate::suite::{Test, tests};

/// Both give the same bytes, or the same error.
fn agree(some: &mut impl Drbg, other: &mut impl Drbg, len: usize, additional: &[u8]) -> bool {
    some.generate(len, additional) == other.generate(len, additional)
}

/// The first request that is answered differently: its length, and that of its additional input. Each follows those before
/// it, so that a mistake in the state shows in the next.
fn missed_length(seed_len: usize, mut some: impl Drbg, mut other: impl Drbg) -> Option<[usize; 2]> {
    let input: Vec<u8> = (1..=seed_len as u8).collect();
    let short = (0..=300).flat_map(|len| (0..=seed_len).map(move |additional| [len, additional]));
    let long = [1088, 4095, 65535, MAX_REQUEST].into_iter();
    let mut lens = short.chain(long.flat_map(|len| [[len, 0], [len, seed_len]]));
    lens.find(|&[len, additional]| {
        let additional = &input[..additional];
        if len % 7 == 0 {
            some.reseed(&input, additional).unwrap();
            other.reseed(&input, additional).unwrap();
        }
        !agree(&mut some, &mut other, len, additional)
    })
}

/// Instantiates a generator.
trait Instantiate<D>: Fn(&[u8]) -> D {}
impl<D, F: Fn(&[u8]) -> D> Instantiate<D> for F {}

/// The entropy input of which an instantiation makes this key and V: the state begins as zeros.
fn entropy_for(key: &[u8], v: u128) -> Vec<u8> {
    let zeros = Aes::new(&vec![0; key.len()]).keystream(1, key.len() + 16);
    let state = key.iter().copied().chain(v.to_be_bytes());
    zeros.iter().zip(state).map(|(a, b)| a ^ b).collect()
}

/// The widths of counters whose carry is missed, in requests that begin each number of blocks before it, up to past the
/// largest batch of an engine.
fn missed_carries<A: Drbg, B: Drbg>(
    seed_len: usize,
    some: impl Instantiate<A>,
    other: impl Instantiate<B>,
) -> Vec<u32> {
    let key: Vec<u8> = (0..seed_len as u8 - 16).collect();
    let is_missed = |bits: &u32| {
        let carry = 1u128.checked_shl(*bits).unwrap_or(0);
        (0..=35).any(|before| {
            let entropy = entropy_for(&key, carry.wrapping_sub(before));
            let (mut some, mut other) = (some(&entropy), other(&entropy));
            (0..2).any(|_| !agree(&mut some, &mut other, 600, b""))
        })
    };
    [8, 32, 64, 128].into_iter().filter(is_missed).collect()
}

#[derive(Clone, Debug)]
enum Request {
    Reseed(Vec<u8>, Vec<u8>),
    Generate(usize, Vec<u8>),
    GenerateWithPredictionResistance(usize, Vec<u8>, Vec<u8>),
}

/// A request that may be refused: each input may be too long by one.
fn request(seed_len: usize) -> impl Strategy<Value = Request> {
    let len = || prop_oneof![8 => 0..1024usize, 1 => 1024..=MAX_REQUEST + 1];
    let entropy =
        || prop_oneof![8 => vec(any::<u8>(), seed_len), 1 => vec(any::<u8>(), 0..seed_len + 2)];
    let additional = || vec(any::<u8>(), 0..seed_len + 2);
    prop_oneof![
        (entropy(), additional()).prop_map(|(e, a)| Request::Reseed(e, a)),
        (len(), additional()).prop_map(|(l, a)| Request::Generate(l, a)),
        (len(), entropy(), additional())
            .prop_map(|(l, e, a)| Request::GenerateWithPredictionResistance(l, e, a)),
    ]
}

fn answer(drbg: &mut impl Drbg, request: &Request) -> Result<Vec<u8>, Error> {
    match request {
        Request::Reseed(entropy, additional) => {
            drbg.reseed(entropy, additional)?;
            drbg.generate(32, b"")
        }
        Request::Generate(len, additional) => drbg.generate(*len, additional),
        Request::GenerateWithPredictionResistance(len, entropy, additional) => {
            drbg.generate_resistant(*len, entropy, additional)
        }
    }
}

type Sequence = (Vec<u8>, Vec<Request>);

/// Entropy input for an instantiation, and requests.
fn sequences(seed_len: usize) -> impl Strategy<Value = Sequence> {
    (vec(any::<u8>(), seed_len), vec(request(seed_len), 1..12))
}

/// One of 64 `sequences` that is answered differently.
fn missed_sequence<A: Drbg, B: Drbg>(
    sequences: impl Strategy<Value = Sequence>,
    some: impl Instantiate<A>,
    other: impl Instantiate<B>,
) -> Option<String> {
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(64)
    };
    let check = |(entropy, requests): Sequence| {
        let (mut some, mut other) = (some(&entropy), other(&entropy));
        for request in &requests {
            prop_assert!(answer(&mut some, request) == answer(&mut other, request));
        }
        prop_assert!(agree(&mut some, &mut other, 32, b""));
        Ok(())
    };
    let outcome = TestRunner::new(config).run(&sequences, check);
    outcome.err().map(|missed| missed.to_string())
}

fn check<C: Cipher>(engine: Engine) {
    let fast = |entropy: &[u8]| CtrDrbg::<C>::instantiate_on(engine, entropy, b"").unwrap();
    let slow = |entropy: &[u8]| Reference::instantiate(C::KEY_LEN, entropy, b"").unwrap();
    let seed = vec![7; C::SEED_LEN];
    assert_eq!(missed_length(C::SEED_LEN, fast(&seed), slow(&seed)), None);
    assert!(missed_carries(C::SEED_LEN, fast, slow).is_empty());
    assert_eq!(missed_sequence(sequences(C::SEED_LEN), fast, slow), None);
}

fn ctr_drbg_with_aes_128_is_the_reference(engine: Engine) {
    check::<Aes128>(engine);
}

fn ctr_drbg_with_aes_256_is_the_reference(engine: Engine) {
    check::<Aes256>(engine);
}

/// CTR_DRBG once more, with a mistake.
struct Mistaken {
    mistake: Option<Mistake>,
    key: Vec<u8>,
    v: u128,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    LittleEndianCounter,
    CounterOf32Bits,
    CounterOf64Bits,
    VBeforeKey,
    NoUpdateBefore,
    NoInputAfter,
    NoUpdateAfter,
}

impl Mistaken {
    fn new(mistake: Option<Mistake>, entropy: &[u8]) -> Mistaken {
        let key = vec![0; entropy.len() - 16];
        let mut drbg = Mistaken { mistake, key, v: 0 };
        drbg.update(entropy);
        drbg
    }

    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn blocks(&mut self, len: usize) -> Vec<u8> {
        let (cipher, mut bytes) = (Aes::new(&self.key), Vec::new());
        while bytes.len() < len {
            let counted = match self.mistake {
                Some(Mistake::CounterOf32Bits) => u32::MAX.into(),
                Some(Mistake::CounterOf64Bits) => u64::MAX.into(),
                _ => u128::MAX,
            };
            self.v = (self.v & !counted) | (self.v.wrapping_add(1) & counted);
            let block = match self.mistake {
                Some(Mistake::LittleEndianCounter) => self.v.to_le_bytes(),
                _ => self.v.to_be_bytes(),
            };
            bytes.extend(cipher.encrypt(block));
        }
        bytes.truncate(len);
        bytes
    }

    fn update(&mut self, input: &[u8]) {
        let mut temp = self.blocks(self.key.len() + 16);
        temp.iter_mut().zip(input).for_each(|(t, i)| *t ^= i);
        if self.has(Mistake::VBeforeKey) {
            temp.rotate_left(16);
        }
        let v = temp.split_off(self.key.len());
        self.v = u128::from_be_bytes(v.try_into().unwrap());
        self.key = temp;
    }
}

/// The reference says what is refused.
impl Drbg for Mistaken {
    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        Drbg::reseed(
            &mut Reference::unseeded(self.key.len()),
            entropy,
            additional,
        )?;
        let mut material = entropy.to_vec();
        material
            .iter_mut()
            .zip(additional)
            .for_each(|(m, a)| *m ^= a);
        self.update(&material);
        Ok(())
    }

    fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        Drbg::generate(&mut Reference::unseeded(self.key.len()), len, additional)?;
        if !additional.is_empty() && !self.has(Mistake::NoUpdateBefore) {
            self.update(additional);
        }
        let output = self.blocks(len);
        match self.mistake {
            Some(Mistake::NoUpdateAfter) => {}
            Some(Mistake::NoInputAfter) => self.update(b""),
            _ => self.update(additional),
        }
        Ok(output)
    }
}

/// The control. A carry at one of 2^32 blocks shows only where it is looked for.
fn a_mistake_is_noticed() {
    use Mistake::*;
    const ALL: &[u32] = &[8, 32, 64, 128];
    let fast = |entropy: &[u8]| CtrDrbg::<Aes256>::instantiate(entropy, b"").unwrap();
    for (mistake, by_length_and_sequence, by_carry) in [
        (None, false, &[] as &[u32]),
        (Some(LittleEndianCounter), true, ALL),
        (Some(CounterOf32Bits), false, &ALL[1..]),
        (Some(CounterOf64Bits), false, &ALL[2..]),
        (Some(VBeforeKey), true, ALL),
        (Some(NoUpdateBefore), true, &[]),
        (Some(NoInputAfter), true, &[]),
        (Some(NoUpdateAfter), true, ALL),
    ] {
        let mistaken = |entropy: &[u8]| Mistaken::new(mistake, entropy);
        let length = missed_length(48, fast(&[7; 48]), mistaken(&[7; 48]));
        assert_eq!(length.is_some(), by_length_and_sequence, "{mistake:?}");
        let sequence = missed_sequence(sequences(48).no_shrink(), fast, mistaken);
        assert_eq!(sequence.is_some(), by_length_and_sequence, "{mistake:?}");
        assert_eq!(missed_carries(48, fast, mistaken), by_carry, "{mistake:?}");
    }
}

/// The engines' limit is tested where the counter can be set, in `src/ctr_drbg.rs`.
fn the_reference_requires_a_reseed_after_2_48_requests() {
    let mut drbg = Reference::instantiate(32, &[7; 48], b"").unwrap();
    drbg.reseed_counter = 1 << 48;
    assert!(drbg.generate(32, b"").is_some());
    assert_eq!(drbg.generate(32, b""), None);
    drbg.reseed(&[8; 48], b"").unwrap();
    assert!(drbg.generate(32, b"").is_some());
}

pub const TESTS: &[Test<fn()>] = tests![
    a_mistake_is_noticed,
    the_reference_requires_a_reseed_after_2_48_requests,
];

pub const ON_EACH_ENGINE: &[Test<fn(Engine)>] = tests![
    ctr_drbg_with_aes_128_is_the_reference,
    ctr_drbg_with_aes_256_is_the_reference,
];
