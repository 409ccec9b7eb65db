//! Robustness as a game. The attacker knows the initial state (the constants), the kind, time and
//! values of every input, and all but a few bits of the cycle counts. If few bits are unknown, they try
//! all candidates, find the one that explains an output, and know everything that follows. If too many
//! are unknown, they learn nothing: the generator has recovered from the compromise.

use squall::entropy::Input;
use squall::entropy::whirlwind::{Whirlwind, WithSha512};

use super::reference::{Functions, Reference};
use super::script::ScriptedMachine;
use crate::suite::{Test, tests};

type Real = Whirlwind<WithSha512, ScriptedMachine>;

/// Input `number`. The attacker knows all of it but `secret`, bits of its cycle count.
fn event(number: u64, secret: u32) -> Input {
    Input {
        source: 9,
        cycles: (number as u32).wrapping_mul(77_777) ^ secret,
        values: [number as u32, 5],
    }
}

/// A Whirlwind in a state that the attacker knows, and the attacker's copy of that state.
fn compromised() -> (Real, Reference) {
    let machine = ScriptedMachine::default();
    let attacker = Reference::new(Functions::Sha512, machine.copy());
    (Whirlwind::new(machine), attacker)
}

fn output(real: &Real) -> Vec<u8> {
    let mut out = vec![0; 32];
    real.generate(&mut out);
    out
}

/// The attacker's state after the events with these secrets.
fn replay(attacker: &Reference, secrets: impl IntoIterator<Item = u32>) -> Reference {
    let mut state = attacker.clone();
    state.machine = attacker.machine.copy();
    for (number, secret) in (0..).zip(secrets) {
        state.add(event(number, secret));
    }
    state
}

/// Two secret bits in each of the eight inputs that fill the fast seed's first block: all 2^16
/// are tried.
fn few_unknown_bits_reproduce_everything() {
    let (real, attacker) = compromised();
    // Input 0 goes to the slow seed.
    let secrets =
        |bits: u32| (0..=8).map(move |i| if i == 0 { 0 } else { bits >> (2 * (i - 1)) & 3 });
    for (number, secret) in (0..).zip(secrets(squall::u32())) {
        real.add(event(number, secret));
    }
    let first = output(&real);
    let mut explained: Vec<Reference> = (0..1 << 16)
        .map(|candidate| replay(&attacker, secrets(candidate)))
        .filter_map(|mut state| (state.generate(32) == first).then_some(state))
        .collect();
    assert_eq!(explained.len(), 1, "one candidate explains the output");
    let mut known = explained.remove(0);
    for number in 0..1000 {
        assert_eq!(
            known.generate(32),
            output(&real),
            "lost after {number} outputs"
        );
    }
}

/// 32 secret bits in each input: an attacker who guesses, or who knows all inputs but one, learns
/// nothing.
fn many_unknown_bits_reproduce_nothing() {
    let (real, attacker) = compromised();
    let secrets: Vec<u32> = (0..16)
        .map(|number| {
            let secret = squall::u32();
            real.add(event(number, secret));
            secret
        })
        .collect();
    let first = output(&real);
    let guessed = |secrets: Vec<u32>| replay(&attacker, secrets).generate(32) == first;
    assert!(
        guessed(secrets.clone()),
        "the control: who knows the bits has everything"
    );
    assert!(!guessed(vec![0; 16]));
    for _ in 0..5000 {
        assert!(!guessed((0..16).map(|_| squall::u32()).collect()));
        // One input is unknown: 32 bits, of which no more than 5000 are tried here.
        let mut all_but_one = secrets.clone();
        all_but_one[4] = squall::u32();
        assert!(all_but_one == secrets || !guessed(all_but_one));
    }
}

/// Secrets only in the slow seed's inputs, one bit each: nothing changes until they are put in
/// use. Then 8 bits at once can be tried, and 400 cannot.
fn the_slow_seed_comes_into_use_in_leaps() {
    let (real, attacker) = compromised();
    let secret = |number: u64| match number % 10 {
        0 => squall::u32() & 1,
        _ => 0,
    };
    // The two outputs' own inputs are 97 to 100; the hundredth puts the slow seed in use.
    let mut secrets: Vec<u32> = (0..97).map(secret).collect();
    // All zeros is the first guess.
    secrets[0] = 1;
    for (number, &secret) in (0..).zip(&secrets) {
        real.add(event(number, secret));
    }
    let (before, after) = (output(&real), output(&real));
    let outputs = |secrets: &mut dyn Iterator<Item = u32>| {
        let mut state = replay(&attacker, secrets);
        let outputs = (state.generate(32), state.generate(32));
        (outputs, state)
    };
    let ((first, second), _) = outputs(&mut [0; 97].into_iter());
    assert_eq!(first, before, "before, no secret matters");
    assert_ne!(second, after);
    let candidate =
        |bits: u32| (0..97).map(move |i| if i % 10 == 0 { bits >> (i / 10) & 1 } else { 0 });
    let explaining = |bits: &u32| outputs(&mut candidate(*bits)).0.1 == after;
    assert_eq!(
        (0..256).filter(explaining).count(),
        1,
        "8 bits are tried in no time"
    );

    // The attacker is told everything so far, and nothing from here on.
    let (_, mut known) = outputs(&mut secrets.iter().copied());
    let mut guess = known.clone();
    guess.machine = known.machine.copy();
    let mut run = |from: u64, to: u64| {
        for number in from..to {
            let secret = secret(number);
            real.add(event(number, secret));
            known.add(event(number, secret));
            guess.add(event(number, 0));
        }
        (output(&real), known.generate(32), guess.generate(32))
    };
    let (real, _, guess) = run(101, 3900);
    assert_eq!(guess, real, "the slow seed is not in use yet");
    let (real, known, guess) = run(3902, 4100);
    assert_ne!(guess, real, "400 unknown bits");
    assert_eq!(known, real, "the control: who knows them predicts it");
}

pub const TESTS: &[Test<fn()>] = tests![
    few_unknown_bits_reproduce_everything,
    many_unknown_bits_reproduce_nothing,
    the_slow_seed_comes_into_use_in_leaps,
];
