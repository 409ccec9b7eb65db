//! Known answers from outside: NIST's, the standards' and OpenSSL's, on every engine.
//!
//! They also prove the slow generators of `common/drbg.rs`, which then check what the vectors do
//! not cover: every length, and refused requests.

use serde_json::Value;
use squall_drbg::{
    Aes128, Aes256, Cipher, CtrDrbg, Engine, Error, FastKeyErasure, Keystream, MAX_REQUEST, Stores,
};

use crate::common::answers::{array, bytes, read};
use crate::common::ctr::Reference;
use crate::common::drbg::{SlowCtrDrbg, SlowFastKeyErasure};
use crate::suite::{Test, tests};

/// What a buffer holds before a request, and after one that was refused.
const UNTOUCHED: u8 = 0x5a;

/// A generator that the procedure of the vectors can be run on.
trait Drbg: Sized {
    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error>;
    fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error>;
}

impl<C: Cipher> Drbg for CtrDrbg<C> {
    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        CtrDrbg::reseed(self, entropy, additional)
    }

    fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        let mut out = vec![UNTOUCHED; len];
        let result = CtrDrbg::generate(self, &mut out, additional);
        if result.is_err() {
            assert!(out.iter().all(|&byte| byte == UNTOUCHED));
        }
        result.map(|()| out)
    }
}

impl<C: Reference> Drbg for SlowCtrDrbg<C> {
    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        SlowCtrDrbg::reseed(self, entropy, additional)
    }

    fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        SlowCtrDrbg::generate(self, len, additional)
    }
}

/// The procedure of `vectors/README.md`, behind the instantiation.
fn second_output(mut drbg: impl Drbg, vector: &Value) -> Result<Vec<u8>, Error> {
    let field = |name| bytes(vector, name);
    let len = vector["returned_bits"].as_u64().expect("a number") as usize / 8;
    if vector["prediction_resistance"] == true {
        drbg.reseed(&field("pr_entropy_1"), &field("additional_1"))?;
        drbg.generate(len, b"")?;
        drbg.reseed(&field("pr_entropy_2"), &field("additional_2"))?;
        return drbg.generate(len, b"");
    }
    if vector.get("reseed_entropy").is_some() {
        drbg.reseed(&field("reseed_entropy"), &field("reseed_additional"))?;
    }
    drbg.generate(len, &field("additional_1"))?;
    drbg.generate(len, &field("additional_2"))
}

/// Runs one CAVP vector on an engine, or on the slow generator.
fn check_ctr_drbg<C: Reference>(engine: Option<Engine>, vector: &Value) {
    let (entropy, personalization) = (bytes(vector, "entropy"), bytes(vector, "personalization"));
    let output = match engine {
        Some(engine) => second_output(
            CtrDrbg::<C>::instantiate_on(engine, &entropy, &personalization).unwrap(),
            vector,
        ),
        None => second_output(
            SlowCtrDrbg::<C>::instantiate(&entropy, &personalization).unwrap(),
            vector,
        ),
    };
    assert_eq!(output, Ok(bytes(vector, "output")), "{vector}");
}

fn check_all_360_answers(engine: Option<Engine>) {
    let vectors = read("ctr_drbg_no_df.json");
    let mut run = [0, 0];
    for vector in &vectors {
        match vector["cipher"].as_str() {
            Some("AES-128") => {
                check_ctr_drbg::<Aes128>(engine, vector);
                run[0] += 1;
            }
            Some("AES-256") => {
                check_ctr_drbg::<Aes256>(engine, vector);
                run[1] += 1;
            }
            _ => panic!("no cipher: {vector}"),
        }
    }
    assert_eq!(run, [180, 180], "vectors run for AES-128 and AES-256");
}

fn ctr_drbg_gives_all_360_answers_of_nist(engine: Engine) {
    check_all_360_answers(Some(engine));
}

fn the_slow_ctr_drbg_gives_all_360_answers_of_nist() {
    check_all_360_answers(None);
}

fn check_keystream<C: Cipher>(engine: Engine, key: &C::Key, answer: &Value) {
    let counter = u128::from_be_bytes(array(answer, "counter"));
    let expected = bytes(answer, "keystream");
    let mut out = vec![0; expected.len()];
    Keystream::<C>::new(key, engine)
        .unwrap()
        .fill(counter, &mut out, Stores::Cached);
    assert_eq!(out, expected, "{answer}");
}

fn keystreams_give_the_answers_of_the_standards(engine: Engine) {
    let answers = read("aes_ctr.json");
    for answer in &answers {
        match answer["cipher"].as_str() {
            Some("AES-128") => check_keystream::<Aes128>(engine, &array(answer, "key"), answer),
            Some("AES-256") => check_keystream::<Aes256>(engine, &array(answer, "key"), answer),
            _ => panic!("no cipher: {answer}"),
        }
    }
    for source in ["FIPS 197", "SP 800-38A", "OpenSSL"] {
        let of_source = |answer: &&Value| {
            let name = answer["source"].as_str();
            name.is_some_and(|name| name.starts_with(source))
        };
        assert!(answers.iter().filter(of_source).count() >= 2, "{source}");
    }
}

/// Runs the steps of an answer, which each generator is given the same way.
fn check_fast_key_erasure(answer: &Value) {
    let key = array(answer, "key");
    let mut generator = FastKeyErasure::new(&key);
    let mut slow = SlowFastKeyErasure::new(key);
    for step in answer["steps"].as_array().expect("steps") {
        if step.get("reseed").is_some() {
            generator.reseed(&array(step, "reseed"));
            slow.reseed(&array(step, "reseed"));
            continue;
        }
        let (additional, expected) = (bytes(step, "additional"), bytes(step, "output"));
        let mut out = vec![0; expected.len()];
        generator.generate(&mut out, &additional).unwrap();
        assert_eq!(out, expected, "{step}");
        let slow_out = slow.generate(expected.len(), &additional);
        assert_eq!(slow_out, Ok(expected), "slow: {step}");
    }
}

fn fast_key_erasure_gives_the_answers_of_openssl() {
    let answers = read("fast_key_erasure.json");
    assert_eq!(answers.len(), 3);
    answers.iter().for_each(check_fast_key_erasure);
}

/// Lengths of output that end in every place within a block, and the longest.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=130).chain([1088, 4095, 65535, 65536])
}

/// Every length of output and of input, one request after the other: an error in the state that
/// one leaves shows in the next.
fn check_every_length<C: Reference>(engine: Engine) {
    let input: Vec<u8> = (0..=255).collect();
    let input = |len| &input[..len];
    let seed_len = C::SEED_LEN;
    let mut fast = CtrDrbg::<C>::instantiate_on(engine, input(seed_len), b"").unwrap();
    let mut slow = SlowCtrDrbg::<C>::instantiate(input(seed_len), b"").unwrap();
    for len in lengths() {
        let additional = input(len % (seed_len + 1));
        let expected = slow.generate(len, additional);
        assert!(
            Drbg::generate(&mut fast, len, additional) == expected,
            "{len}"
        );
    }
    for len in 0..=seed_len {
        slow.reseed(input(seed_len), input(len)).unwrap();
        fast.reseed(input(seed_len), input(len)).unwrap();
        let out = Drbg::generate(&mut fast, 32, b"");
        assert_eq!(out, slow.generate(32, b""), "{len}");
    }
}

fn ctr_drbg_agrees_with_the_slow_one_at_every_length(engine: Engine) {
    check_every_length::<Aes128>(engine);
    check_every_length::<Aes256>(engine);
}

/// What a generator returns after it has refused everything there is to refuse.
fn check_refusals<C: Reference>(mut drbg: impl Drbg) -> Result<Vec<u8>, Error> {
    let (len, max) = (C::SEED_LEN, MAX_REQUEST);
    let too_long = Error::InputTooLong {
        allowed: len,
        given: len + 1,
    };
    let long = Error::RequestTooLong { given: max + 1 };
    let wrong = |given| Error::EntropyLength {
        required: len,
        given,
    };
    let seed = &vec![3; len + 1];
    assert_eq!(drbg.generate(max + 1, b""), Err(long));
    assert_eq!(drbg.generate(max, seed), Err(too_long));
    assert_eq!(drbg.reseed(&seed[..len], seed), Err(too_long));
    for given in [0, len - 1, len + 1] {
        assert_eq!(drbg.reseed(&seed[..given], b""), Err(wrong(given)));
    }
    drbg.generate(max, &seed[..len])
}

fn check_refusals_on<C: Reference>(engine: Engine) {
    let seed = vec![7; C::SEED_LEN];
    let expected = check_refusals::<C>(SlowCtrDrbg::<C>::instantiate(&seed, b"").unwrap());
    let mut untried = SlowCtrDrbg::<C>::instantiate(&seed, b"").unwrap();
    assert!(expected == untried.generate(MAX_REQUEST, &vec![3; C::SEED_LEN]));
    let drbg = CtrDrbg::<C>::instantiate_on(engine, &seed, b"").unwrap();
    assert!(check_refusals::<C>(drbg) == expected);
}

fn ctr_drbg_refuses_what_is_too_long_and_changes_nothing(engine: Engine) {
    check_refusals_on::<Aes128>(engine);
    check_refusals_on::<Aes256>(engine);
}

fn fast_key_erasure_agrees_with_the_slow_one_at_every_length() {
    let mut fast = FastKeyErasure::new(&[7; 32]);
    let mut slow = SlowFastKeyErasure::new([7; 32]);
    for len in lengths() {
        let additional = &[9; 32][..len % 33];
        let mut out = vec![0; len];
        fast.generate(&mut out, additional).unwrap();
        assert!(Ok(out) == slow.generate(len, additional), "{len} bytes");
    }
}

fn fast_key_erasure_refuses_what_is_too_long_and_changes_nothing() {
    let mut generator = FastKeyErasure::new(&[7; 32]);
    let mut out = vec![UNTOUCHED; MAX_REQUEST + 1];
    let given = out.len();
    let too_long = Err(Error::RequestTooLong { given });
    assert_eq!(generator.generate(&mut out, b""), too_long);
    let too_long = Err(Error::InputTooLong {
        allowed: 32,
        given: 33,
    });
    assert_eq!(generator.generate(&mut out[..16], &[0; 33]), too_long);
    assert!(out.iter().all(|&byte| byte == UNTOUCHED));
    out.truncate(MAX_REQUEST);
    generator.generate(&mut out, b"").unwrap();
    let mut untried = SlowFastKeyErasure::new([7; 32]);
    assert!(Ok(out) == untried.generate(MAX_REQUEST, b""));
}

fn the_best_engine_is_the_default() {
    let mut unnamed = CtrDrbg::<Aes256>::instantiate(&[1; 48], b"").unwrap();
    let best = Engine::best_aes();
    let mut named = CtrDrbg::<Aes256>::instantiate_on(best, &[1; 48], b"").unwrap();
    let outputs = [&mut unnamed, &mut named].map(|drbg| Drbg::generate(drbg, 64, b""));
    assert_eq!(outputs[0], outputs[1]);
}

pub const TESTS: &[Test<fn()>] = tests![
    the_slow_ctr_drbg_gives_all_360_answers_of_nist,
    fast_key_erasure_gives_the_answers_of_openssl,
    fast_key_erasure_agrees_with_the_slow_one_at_every_length,
    fast_key_erasure_refuses_what_is_too_long_and_changes_nothing,
    the_best_engine_is_the_default,
];

pub const ON_EACH_ENGINE: &[Test<fn(Engine)>] = tests![
    ctr_drbg_gives_all_360_answers_of_nist,
    keystreams_give_the_answers_of_the_standards,
    ctr_drbg_agrees_with_the_slow_one_at_every_length,
    ctr_drbg_refuses_what_is_too_long_and_changes_nothing,
];
