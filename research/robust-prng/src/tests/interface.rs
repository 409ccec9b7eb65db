//! The robust generator through its public interface: what it refuses, and the game of its promise at
//! its real sizes.

use super::*;

/// Runs a test for every field.
macro_rules! for_every_field {
    ($($name:ident => $test:ident),* $(,)?) => {
        $(fn $name() {
            $test::<Gf489>();
            $test::<Gf579>();
            $test::<Gf705>();
        })*

        pub const TESTS: &[Test] = tests![
            $($name),*,
            bits_of_a_seed_beyond_n_are_ignored,
            zeros_alone_leave_a_new_generator_as_it_is,
        ];
    };
}

for_every_field! {
    other_lengths_of_a_seed_are_refused => refuses_other_seeds,
    inputs_that_do_not_fit_are_refused => refuses_inputs_that_do_not_fit,
    as_an_accumulator_it_is_the_same => is_the_same_as_an_accumulator,
    few_unknown_bits_are_found_and_predict_everything => few_unknown_bits_are_found,
    gamma_unknown_bits_are_not_guessed => gamma_bits_are_not_guessed,
    unknown_bits_in_small_portions_are_lost => small_portions_are_lost,
}

/// A seed, made the same way in every run.
fn seed<F: Field>() -> (Vec<u8>, Vec<u8>) {
    let mut numbers = Numbers(Robust::<F>::ELEMENT_LEN as u64);
    (numbers.element::<F>(), numbers.element::<F>())
}

fn robust<F: Field>() -> Robust<F> {
    let (x, x_prime) = seed::<F>();
    Robust::new(&x, &x_prime).expect("a random seed is not zero")
}

/// Two generators with the same state give the same output.
fn same<F: Field>(a: &mut Robust<F>, b: &mut Robust<F>) -> bool {
    a.output() == b.output()
}

fn refuses_other_seeds<F: Published>() {
    let required = Robust::<F>::ELEMENT_LEN;
    assert_eq!(required, F::DEGREE.div_ceil(8));
    let element = vec![1; required];
    for given in (0..required).chain(required + 1..required + 70) {
        let wrong = Some(RobustError::SeedLength { required, given });
        assert_eq!(Robust::<F>::new(&vec![1; given], &element).err(), wrong);
        assert_eq!(Robust::<F>::new(&element, &vec![1; given]).err(), wrong);
    }
    let mut only_beyond_n = vec![0; required];
    only_beyond_n[required - 1] = 0xff << (F::DEGREE % 8);
    for zero in [vec![0; required], only_beyond_n] {
        let wrong = Some(RobustError::ZeroSeed);
        assert_eq!(Robust::<F>::new(&zero, &element).err(), wrong);
        assert_eq!(Robust::<F>::new(&element, &zero).err(), wrong);
    }
}

fn bits_of_a_seed_beyond_n_are_ignored() {
    let output_of = |x_bits: u8, x_prime_bits: u8| {
        let (mut x, mut x_prime) = seed::<Gf489>();
        x[61] ^= x_bits;
        x_prime[61] ^= x_prime_bits;
        let mut robust = Robust::<Gf489>::new(&x, &x_prime).unwrap();
        robust.refresh(&[3; 60]).unwrap();
        robust.refresh(&[4; 60]).unwrap();
        robust.output()
    };
    assert_eq!(output_of(0xfe, 0x80), output_of(0, 0));
    // The control: bit 488 counts.
    assert_ne!(output_of(1, 0), output_of(0, 0));
    assert_ne!(output_of(0, 1), output_of(0, 0));
}

fn refuses_inputs_that_do_not_fit<F: Published>() {
    let allowed = Robust::<F>::ELEMENT_LEN;
    let (mut robust, mut untouched) = (robust::<F>(), robust::<F>());
    for given in allowed + 1..allowed + 70 {
        let wrong = Err(RobustError::InputTooLong { allowed, given });
        assert_eq!(robust.refresh(&vec![0; given]), wrong);
    }
    for bit in F::DEGREE..8 * allowed {
        let mut input = vec![0; allowed];
        input[bit / 8] |= 1 << (bit % 8);
        let allowed = F::DEGREE;
        assert_eq!(
            robust.refresh(&input),
            Err(RobustError::InputTooWide { allowed })
        );
    }
    assert!(
        same(&mut robust, &mut untouched),
        "a refused input changed the state"
    );
    // The control: the last bit that fits.
    let mut input = vec![0; allowed];
    input[allowed - 1] = 1 << ((F::DEGREE - 1) % 8);
    robust.refresh(&input).unwrap();
    untouched.refresh(&[]).unwrap();
    assert!(!same(&mut robust, &mut untouched));
}

/// Nothing but zeros leaves the state zero, which X cannot change: as documented, a new generator
/// is as predictable as its inputs.
fn zeros_alone_leave_a_new_generator_as_it_is() {
    let (mut fresh, mut refreshed) = (robust::<Gf489>(), robust::<Gf489>());
    for _ in 0..1000 {
        refreshed.refresh(&[0; 16]).unwrap();
    }
    assert!(same(&mut fresh, &mut refreshed));
}

fn is_the_same_as_an_accumulator<F: Published>() {
    for len in [0, 1, 15, 16, 17, 31, 32, 100] {
        let (mut accumulator, mut robust) = (robust::<F>(), robust::<F>());
        let input = Input::now(7, [1, 2]);
        accumulator.add_input(input);
        robust.refresh(&input.to_bytes()).unwrap();
        let mut out = vec![0; len];
        accumulator.generate(&mut out);
        let expected: Vec<u8> = (0..len.div_ceil(16))
            .flat_map(|_| robust.output())
            .collect();
        assert_eq!(out, expected[..len]);
        assert!(
            same(&mut accumulator, &mut robust),
            "{len} bytes took other outputs"
        );
    }
}

/// A compromised generator: the attacker set its state and knows the seed.
fn compromised<F: Field>() -> Robust<F> {
    let mut robust = robust::<F>();
    robust.refresh(b"a state that the attacker knows").unwrap();
    robust
}

/// Refreshes with `unknown` bits, the same number in every input but the last, as the low bits of
/// an event's time; the rest of the events, and one between any two, are the attacker's.
fn refresh_with<F: Field>(robust: &mut Robust<F>, unknown: &[bool], bits_an_input: usize) {
    for (i, bits) in unknown.chunks(bits_an_input).enumerate() {
        let mut event = [0x11; 16];
        event[0] = i as u8;
        let drawn = reference::bytes(bits);
        event[1..][..drawn.len()].copy_from_slice(&drawn);
        robust.refresh(&event).unwrap();
        robust.refresh(b"chosen by the attacker").unwrap();
    }
}

fn as_bits(number: usize, len: usize) -> Vec<bool> {
    (0..len).map(|i| number >> i & 1 == 1).collect()
}

/// The attacker tries all of 13 bits, spread over 7 inputs: one guess fits, and gives every later
/// output as long as nothing else unknown comes in.
fn few_unknown_bits_are_found<F: Published>() {
    const UNKNOWN: usize = 13;
    const SECRET: usize = 0b1_0110_0111_0001;
    let mut victim = compromised::<F>();
    refresh_with(&mut victim, &as_bits(SECRET, UNKNOWN), 2);
    let seen = victim.output();
    let mut found = Vec::new();
    for guess in 0..1 << UNKNOWN {
        let mut model = compromised::<F>();
        refresh_with(&mut model, &as_bits(guess, UNKNOWN), 2);
        if model.output() == seen {
            found.push((guess, model));
        }
    }
    let [(guess, model)] = &mut found[..] else {
        panic!("{} guesses fit", found.len());
    };
    assert_eq!(*guess, SECRET);
    for i in 0..100u8 {
        assert!(same(model, &mut victim));
        model.refresh(&[i]).unwrap();
        victim.refresh(&[i]).unwrap();
    }
}

/// With γ* unknown bits, nothing of what a guess predicts comes true; with the right guess, the
/// control, all of it.
fn gamma_bits_are_not_guessed<F: Published>() {
    const BITS_AN_INPUT: usize = 60;
    const GUESSES: usize = 4000;
    let mut numbers = Numbers(F::GAMMA as u64);
    let mut draw = || {
        let mut bits = reference::bits(&numbers.element::<F>());
        bits.truncate(F::GAMMA);
        bits
    };
    let secret = draw();
    let predict = |bits: &[bool]| {
        let mut model = compromised::<F>();
        refresh_with(&mut model, bits, BITS_AN_INPUT);
        [(); 3].map(|()| model.output())
    };
    let outputs = predict(&secret);
    assert_eq!(predict(&secret), outputs);
    let zeros = vec![false; F::GAMMA];
    // A guess with one bit wrong is as wrong as any.
    let near = (0..F::GAMMA).map(|i| {
        let mut near = secret.clone();
        near[i] ^= true;
        near
    });
    let random: Vec<_> = (0..GUESSES).map(|_| draw()).collect();
    for guess in random.into_iter().chain([zeros]).chain(near) {
        let predicted = predict(&guess);
        assert!(!predicted.iter().any(|output| outputs.contains(output)));
    }
}

/// What it does not promise: γ* bits in portions of 8 with an output behind each are followed by
/// an attacker who tries 256 guesses an output.
fn small_portions_are_lost<F: Published>() {
    const PORTION: usize = 8;
    let mut victim = compromised::<F>();
    let mut known = compromised::<F>();
    let mut history: Vec<Vec<bool>> = Vec::new();
    let mut numbers = Numbers(3);
    for _ in 0..F::GAMMA.div_ceil(PORTION) {
        let secret = as_bits(numbers.next() as usize, PORTION);
        refresh_with(&mut victim, &secret, PORTION);
        let seen = victim.output();
        let found = (0..1 << PORTION).find(|&guess| {
            let mut model = compromised::<F>();
            for portion in &history {
                refresh_with(&mut model, portion, PORTION);
                model.output();
            }
            refresh_with(&mut model, &as_bits(guess, PORTION), PORTION);
            model.output() == seen
        });
        let portion = as_bits(found.expect("one of them fits"), PORTION);
        refresh_with(&mut known, &portion, PORTION);
        known.output();
        history.push(portion);
    }
    assert!(same(&mut known, &mut victim));
}
