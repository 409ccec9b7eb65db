//! Known answers from outside: NIST's, the standards' and OpenSSL's, on every engine.
//!
//! They also prove the slow generators, those of `squall-reference` and `common/drbg.rs`, which then check what the vectors
//! do not cover: every length, and refused requests.

use serde_json::Value;
use squall_drbg::{
    Aes128, Aes256, Cipher, CtrDrbg, CtrDrbgDf, Engine, Error, FastKeyErasure, Keystream,
    MAX_REQUEST, Stores,
};
use squall_reference::CtrDrbg as SlowCtrDrbg;

use crate::common::answers::{array, bytes, changed, read};
use crate::common::drbg::{SlowCtrDrbgDf, SlowFastKeyErasure, df_string};
use crate::common::requests::{Drbg, UNTOUCHED};
use crate::suite::{Test, step, tests};

/// The procedure of `vectors/README.md`, behind the instantiation.
fn second_output(mut drbg: impl Drbg, vector: &Value) -> Result<Vec<u8>, Error> {
    let field = |name| bytes(vector, name);
    let len = vector["returned_bits"].as_u64().expect("a number") as usize / 8;
    if vector["prediction_resistance"] == true {
        drbg.generate_resistant(len, &field("pr_entropy_1"), &field("additional_1"))?;
        return drbg.generate_resistant(len, &field("pr_entropy_2"), &field("additional_2"));
    }
    if vector.get("reseed_entropy").is_some() {
        drbg.reseed(&field("reseed_entropy"), &field("reseed_additional"))?;
    }
    drbg.generate(len, &field("additional_1"))?;
    drbg.generate(len, &field("additional_2"))
}

/// The answer to one CAVP vector of an engine, or of the slow generator.
fn answer(
    engine: Option<Engine>,
    derivation_function: bool,
    vector: &Value,
) -> Result<Vec<u8>, Error> {
    match vector["cipher"].as_str() {
        Some("AES-128") => answer_of::<Aes128>(engine, derivation_function, vector),
        Some("AES-256") => answer_of::<Aes256>(engine, derivation_function, vector),
        _ => panic!("no cipher: {vector}"),
    }
}

fn answer_of<C: Cipher>(
    engine: Option<Engine>,
    derivation_function: bool,
    vector: &Value,
) -> Result<Vec<u8>, Error> {
    let [entropy, nonce, personalization] =
        ["entropy", "nonce", "personalization"].map(|field| bytes(vector, field));
    match (engine, derivation_function) {
        (Some(engine), false) => second_output(
            CtrDrbg::<C>::instantiate_on(engine, &entropy, &personalization)?,
            vector,
        ),
        (None, false) => second_output(
            SlowCtrDrbg::instantiate(C::KEY_LEN, &entropy, &personalization).unwrap(),
            vector,
        ),
        (Some(engine), true) => second_output(
            CtrDrbgDf::<C>::instantiate_on(engine, &entropy, &nonce, &personalization)?,
            vector,
        ),
        (None, true) => second_output(
            SlowCtrDrbgDf::instantiate(C::KEY_LEN, &entropy, &nonce, &personalization)?,
            vector,
        ),
    }
}

fn check_all_2880_answers(engine: Option<Engine>) {
    for (file, derivation_function) in [("ctr_drbg_no_df.json", false), ("ctr_drbg_df.json", true)]
    {
        let mut run = [0, 0];
        for vector in &read(file) {
            let output = answer(engine, derivation_function, vector);
            assert_eq!(output, Ok(bytes(vector, "output")), "{vector}");
            run[usize::from(vector["cipher"] == "AES-256")] += 1;
        }
        assert_eq!(run, [720, 720], "{file}, for AES-128 and AES-256");
    }
}

fn ctr_drbg_gives_all_2880_answers_of_nist(engine: Engine) {
    check_all_2880_answers(Some(engine));
}

fn the_slow_ctr_drbg_gives_all_2880_answers_of_nist() {
    check_all_2880_answers(None);
}

/// The control: the answers depend on every field that the procedure reads.
fn an_input_that_is_changed_changes_the_answer() {
    for (file, derivation_function) in [("ctr_drbg_no_df.json", false), ("ctr_drbg_df.json", true)]
    {
        let mut fields = std::collections::BTreeSet::new();
        for vector in &read(file) {
            for (field, value) in vector.as_object().expect("an object") {
                let is_input = field != "cipher" && field != "output";
                let Some(digits) = value.as_str().filter(|_| is_input) else {
                    continue;
                };
                let mut vector = vector.clone();
                vector[field] = changed(digits).into();
                let output = answer(Some(Engine::best_aes()), derivation_function, &vector);
                assert_ne!(output, Ok(bytes(&vector, "output")), "{field}: {vector}");
                fields.insert(field.clone());
            }
        }
        assert_eq!(fields.len(), 8 + usize::from(derivation_function));
    }
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
    for source in ["FIPS 197", "SP 800-38A", "ACVP-AES-CTR", "OpenSSL"] {
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

/// The derivation function's inputs of every length, and past those at which their length takes another byte.
const DF_LENGTHS: [usize; 6] = [255, 256, 257, 65535, 65536, 70000];

/// The lengths of additional input at which the derivation function is not that of `string`, whose answers are the slow
/// generator's.
fn lengths_missed<C: Cipher>(engine: Engine, string: fn(&[&[u8]], usize) -> Vec<u8>) -> Vec<usize> {
    let input: Vec<u8> = (0..=250).cycle().take(70000).collect();
    let is_missed = |&len: &usize| {
        let mut fast = CtrDrbgDf::<C>::instantiate_on(engine, &input[..32], b"", b"").unwrap();
        let mut slow = SlowCtrDrbgDf::instantiate(C::KEY_LEN, &input[..32], b"", b"").unwrap();
        slow.string = string;
        Drbg::generate(&mut fast, 32, &input[..len]) != slow.generate(32, &input[..len])
    };
    (0..=130).chain(DF_LENGTHS).filter(is_missed).collect()
}

fn the_derivation_function_takes_every_length(engine: Engine) {
    assert!(lengths_missed::<Aes128>(engine, df_string).is_empty());
    assert!(lengths_missed::<Aes256>(engine, df_string).is_empty());
}

/// The control, with mistakes that NIST's answers do not show: all their inputs are short and multiples of 8 bytes.
fn a_derivation_function_that_is_wrong_is_caught() {
    let missed = |string| lengths_missed::<Aes256>(Engine::best_aes(), string);
    let length_in_a_byte = missed(|inputs, number| {
        let mut string = df_string(inputs, number);
        string[..3].fill(0);
        string
    });
    assert_eq!(length_in_a_byte, DF_LENGTHS[1..]);
    let unpadded = missed(|inputs, number| {
        let mut string = df_string(inputs, number);
        if (8 + inputs.concat().len()).is_multiple_of(8) {
            return string;
        }
        let padding = string.iter().rposition(|&byte| byte == 0x80);
        string[padding.expect("there is padding")] = 0;
        string
    });
    let not_whole = |len: &usize| !len.is_multiple_of(8);
    let lengths = (1..=130).chain(DF_LENGTHS);
    assert!(unpadded.into_iter().eq(lengths.filter(not_whole)));
}

/// Entropy input, nonce and personalization string that end at every place within a block, and reseeds with them.
fn check_every_split<C: Cipher>(engine: Engine) {
    let input: Vec<u8> = (0..=255).collect();
    for split in (0..17 * 17).step_by(step(100)) {
        let (entropy, rest) = input.split_at(C::KEY_LEN + split / 17);
        let (nonce, rest) = rest.split_at(split % 17);
        let personalization = &rest[..split % 41];
        let mut fast =
            CtrDrbgDf::<C>::instantiate_on(engine, entropy, nonce, personalization).unwrap();
        let mut slow =
            SlowCtrDrbgDf::instantiate(C::KEY_LEN, entropy, nonce, personalization).unwrap();
        fast.reseed(entropy, nonce).unwrap();
        slow.reseed(entropy, nonce).unwrap();
        assert_eq!(
            fast.generate_resistant(split, entropy, nonce),
            slow.generate_resistant(split, entropy, nonce),
            "{split}"
        );
        assert_eq!(
            Drbg::generate(&mut fast, 33, nonce),
            slow.generate(33, nonce),
            "{split}"
        );
    }
}

fn the_derivation_function_takes_inputs_in_pieces(engine: Engine) {
    check_every_split::<Aes128>(engine);
    check_every_split::<Aes256>(engine);
}

/// What a generator returns after it has refused everything there is to refuse.
fn check_refusals<C: Cipher>(mut drbg: impl Drbg) -> Result<Vec<u8>, Error> {
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
    assert_eq!(
        drbg.generate_resistant(max, &seed[..len], seed),
        Err(too_long)
    );
    for given in [0, len - 1, len + 1] {
        assert_eq!(drbg.reseed(&seed[..given], b""), Err(wrong(given)));
        let refused = drbg.generate_resistant(max, &seed[..given], b"");
        assert_eq!(refused, Err(wrong(given)));
    }
    drbg.generate(max, &seed[..len])
}

fn check_refusals_on<C: Cipher>(engine: Engine) {
    let seed = vec![7; C::SEED_LEN];
    let expected = check_refusals::<C>(SlowCtrDrbg::instantiate(C::KEY_LEN, &seed, b"").unwrap());
    let mut untried = SlowCtrDrbg::instantiate(C::KEY_LEN, &seed, b"").unwrap();
    assert!(expected == Drbg::generate(&mut untried, MAX_REQUEST, &vec![3; C::SEED_LEN]));
    let mut drbg = CtrDrbg::<C>::instantiate_on(engine, &seed, b"").unwrap();
    let long = Err(Error::RequestTooLong {
        given: MAX_REQUEST + 1,
    });
    assert_eq!(
        drbg.generate_resistant(MAX_REQUEST + 1, &seed, b""),
        long,
        "before it reseeds"
    );
    assert!(check_refusals::<C>(drbg) == expected);
}

fn check_refusals_with_df_on<C: Cipher>(engine: Engine) {
    let seed = [7; 32];
    let mut drbg = CtrDrbgDf::<C>::instantiate_on(engine, &seed, b"", b"").unwrap();
    let mut untried = SlowCtrDrbgDf::instantiate(C::KEY_LEN, &seed, b"", b"").unwrap();
    let long = Err(Error::RequestTooLong {
        given: MAX_REQUEST + 1,
    });
    for additional in [b"".as_slice(), b"input"] {
        assert_eq!(Drbg::generate(&mut drbg, MAX_REQUEST + 1, additional), long);
        let resistant = drbg.generate_resistant(MAX_REQUEST + 1, &seed, additional);
        assert_eq!(resistant, long);
    }
    for given in [0, C::KEY_LEN - 1] {
        let required = C::KEY_LEN;
        let short = Error::EntropyTooShort { required, given };
        let few = &seed[..given];
        assert_eq!(drbg.reseed(few, &seed), Err(short));
        assert_eq!(drbg.generate_resistant(1, few, &seed), Err(short));
        let unmade = CtrDrbgDf::<C>::instantiate_on(engine, few, &seed, &seed);
        assert_eq!(unmade.unwrap_err(), short);
    }
    assert!(Drbg::generate(&mut drbg, MAX_REQUEST, b"") == untried.generate(MAX_REQUEST, b""));
    drbg.reseed(&seed[..C::KEY_LEN], b"").unwrap();
}

fn ctr_drbg_with_df_refuses_what_it_cannot_take_and_changes_nothing(engine: Engine) {
    check_refusals_with_df_on::<Aes128>(engine);
    check_refusals_with_df_on::<Aes256>(engine);
}

fn ctr_drbg_refuses_what_is_too_long_and_changes_nothing(engine: Engine) {
    check_refusals_on::<Aes128>(engine);
    check_refusals_on::<Aes256>(engine);
}

/// Lengths of output that end in every place within a block, and the longest.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=130).chain([1088, 4095, 65535, 65536])
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

    let mut unnamed = CtrDrbgDf::<Aes128>::instantiate(&[1; 16], b"2", b"3").unwrap();
    let mut named = CtrDrbgDf::<Aes128>::instantiate_on(best, &[1; 16], b"2", b"3").unwrap();
    let outputs = [&mut unnamed, &mut named].map(|drbg| Drbg::generate(drbg, 64, b""));
    assert_eq!(outputs[0], outputs[1]);
}

pub const TESTS: &[Test<fn()>] = tests![
    the_slow_ctr_drbg_gives_all_2880_answers_of_nist,
    an_input_that_is_changed_changes_the_answer,
    a_derivation_function_that_is_wrong_is_caught,
    fast_key_erasure_gives_the_answers_of_openssl,
    fast_key_erasure_agrees_with_the_slow_one_at_every_length,
    fast_key_erasure_refuses_what_is_too_long_and_changes_nothing,
    the_best_engine_is_the_default,
];

pub const ON_EACH_ENGINE: &[Test<fn(Engine)>] = tests![
    ctr_drbg_gives_all_2880_answers_of_nist,
    keystreams_give_the_answers_of_the_standards,
    the_derivation_function_takes_every_length,
    the_derivation_function_takes_inputs_in_pieces,
    ctr_drbg_refuses_what_is_too_long_and_changes_nothing,
    ctr_drbg_with_df_refuses_what_it_cannot_take_and_changes_nothing,
];
