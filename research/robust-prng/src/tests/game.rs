//! Robustness as a game, in fields small enough to count everything.
//!
//! The attacker knows the seed, the state at one time, and every input except the bits that an entropy
//! source drew. How well can they know the next key U?

use super::*;

/// Values of U in F_2^23.
const KEYS: usize = 1 << Gf23::KEY_BITS;

/// What an entropy source draws, as the inputs of one run, from a number below 2^bits.
type Source = fn(number: usize, bits: usize) -> [usize; INPUTS];

/// Inputs of a run, and the largest element among them.
const INPUTS: usize = 3;
const LARGEST: usize = (1 << Gf23::DEGREE) - 1;

/// Unknown bits spread over all inputs and their places; the rest of each is known.
fn spread(number: usize, bits: usize) -> [usize; INPUTS] {
    let mut inputs = [0x2a_5a5a, 0x51_0f0f, 0x13_3773];
    for i in 0..bits {
        inputs[i % INPUTS] ^= (number >> i & 1) << (i * 7 % Gf23::DEGREE);
    }
    inputs
}

/// A clock whose steps are not powers of two, in the last input; the rest is known.
fn clock(number: usize, _: usize) -> [usize; INPUTS] {
    [1, 2, (1000 + 37 * number) & LARGEST]
}

/// A set without structure; the number is in it, so that none comes twice.
fn scattered(number: usize, _: usize) -> [usize; INPUTS] {
    let mut numbers = Numbers(number as u64);
    [
        number,
        numbers.next() as usize & LARGEST,
        numbers.next() as usize & LARGEST,
    ]
}

const SOURCES: [(&str, Source); 3] = [
    ("spread", spread),
    ("clock", clock),
    ("scattered", scattered),
];

fn bytes(element: usize) -> [u8; 3] {
    let [a, b, c, ..] = element.to_le_bytes();
    [a, b, c]
}

/// Sets the state to zero and takes `inputs`.
fn run(robust: &mut Robust<Gf23>, inputs: &[usize]) {
    robust.state = Element::zero();
    for &input in inputs {
        robust.refresh(&bytes(input)).unwrap();
    }
}

fn key<F: Field>(robust: &Robust<F>) -> usize {
    let mut key = [0; BLOCK];
    robust.extract(&mut key);
    u128::from_le_bytes(key) as usize
}

/// How often each U comes, over all `draws`.
fn count(robust: &mut Robust<Gf23>, draws: impl Iterator<Item = Vec<usize>>) -> Vec<u32> {
    let mut counts = vec![0; KEYS];
    for inputs in draws {
        run(robust, &inputs);
        counts[key(robust)] += 1;
    }
    counts
}

/// The statistical distance between the counts and the uniform distribution.
fn distance(counts: &[u32]) -> f64 {
    let total: u32 = counts.iter().sum();
    let uniform = 1.0 / counts.len() as f64;
    let excess = |&count: &u32| (f64::from(count) / f64::from(total) - uniform).abs();
    counts.iter().map(excess).sum::<f64>() / 2.0
}

/// The leftover hash lemma's bound on the mean distance over all seeds: two runs of `inputs`
/// inputs meet in one state for at most `inputs` of 2^n X, two states in one U for 2^-m of X'.
fn bound(key_bits: usize, entropy: usize, inputs: usize, degree: usize) -> f64 {
    let power = |exponent: usize| (exponent as f64).exp2();
    let collisions = 1.0 / power(entropy) + inputs as f64 / power(degree);
    (power(key_bits) * collisions).sqrt() / 2.0
}

/// The mean distance over 64 seeds, as a sample of all.
fn mean_distance(source: Source, entropy: usize) -> f64 {
    let mut numbers = Numbers(entropy as u64);
    let of_one_seed = |_| {
        let mut robust = numbers.robust();
        let draws = (0..1 << entropy).map(|number| source(number, entropy).to_vec());
        distance(&count(&mut robust, draws))
    };
    (0..64).map(of_one_seed).sum::<f64>() / 64.0
}

fn enough_entropy_makes_the_key_uniform_and_too_little_does_not() {
    for (name, source) in SOURCES {
        for entropy in [8, 10, 14] {
            let mean = mean_distance(source, entropy);
            let bound = bound(Gf23::KEY_BITS, entropy, INPUTS, Gf23::DEGREE);
            assert!(
                mean <= bound,
                "{name}, {entropy} bits: {mean} is more than {bound}"
            );
        }
        // The control: fewer draws than keys leave most keys out.
        let enough = bound(Gf23::KEY_BITS, 14, INPUTS, Gf23::DEGREE);
        for entropy in [0, 1, 3] {
            let mean = mean_distance(source, entropy);
            let least = 1.0 - (1 << entropy) as f64 / KEYS as f64;
            assert!(
                mean >= least,
                "{name}, {entropy} bits: {mean} is less than {least}"
            );
            assert!(mean > 20.0 * enough, "{name}, {entropy} bits: {mean}");
        }
    }
}

fn inputs_the_attacker_chooses_change_nothing() {
    const ENTROPY: usize = 10;
    let mut numbers = Numbers(5);
    for (name, source) in SOURCES {
        let mut moved = 0;
        for _ in 0..20 {
            let mut robust = numbers.robust::<Gf23>();
            let chosen: [usize; INPUTS] =
                core::array::from_fn(|_| numbers.next() as usize & LARGEST);
            let mut with = |chosen: [usize; INPUTS]| {
                let between = |inputs: [usize; INPUTS]| {
                    inputs.into_iter().zip(chosen).flat_map(|(a, b)| [a, b])
                };
                let draws =
                    (0..1 << ENTROPY).map(|number| between(source(number, ENTROPY)).collect());
                count(&mut robust, draws)
            };
            let quiet = with([0; INPUTS]);
            let attacked = with(chosen);
            run(&mut robust, &chosen.map(|input| [0, input]).concat());
            // Everything is linear: what is chosen is added to the key, and known.
            let added = key(&robust);
            assert!(
                (0..KEYS).all(|key| attacked[key ^ added] == quiet[key]),
                "{name}"
            );
            moved += u32::from(added != 0);
        }
        assert!(
            moved > 10,
            "{name}: the chosen inputs reached {moved} keys of 20"
        );
    }
}

fn inputs_that_depend_on_the_seed_may_be_worth_nothing() {
    let mut robust = Numbers(6).robust::<Gf23>();
    let mut independent = robust.stolen();
    let mut keys = [0, 0];
    for number in 0..1 << 12 {
        let mut times_x = Element::<Gf23>::from_bytes(&bytes(number));
        times_x.multiply_by(&robust.x);
        // S·X + I with I = S·X: the same state, whatever was drawn.
        robust.state = Element::zero();
        robust.refresh(&bytes(number)).unwrap();
        robust.refresh(&times_x.to_bytes()).unwrap();
        assert!(robust.state.is_zero());
        keys[0] |= 1u64 << key(&robust);
        // The control: the same draws, and a second input that does not know X.
        run(&mut independent, &[number, number]);
        keys[1] |= 1u64 << key(&independent);
    }
    assert_eq!(keys, [1, u64::MAX]);
}

pub const TESTS: &[Test] = tests![
    enough_entropy_makes_the_key_uniform_and_too_little_does_not,
    inputs_the_attacker_chooses_change_nothing,
    inputs_that_depend_on_the_seed_may_be_worth_nothing,
];
