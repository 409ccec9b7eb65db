//! Whirlwind against a slow and obvious reference, against the constants of its authors, and
//! against an attacker who knows everything but a few bits.

pub mod game;
mod reference;
mod script;

use reference::{Functions, Reference};
use script::ScriptedMachine;
use squall::entropy::whirlwind::{Functions as Choice, Whirlwind, WithSha512};
#[cfg(feature = "whirlwind-alternatives")]
use squall::entropy::whirlwind::{WithDaviesMeyer, WithSha256};
use squall::entropy::{Accumulator, Input};

use crate::suite::{Test, tests};

/// Runs `test` for each choice of functions, with the reference's name for it.
macro_rules! for_each_choice {
    ($test:ident) => {{
        $test::<WithSha512>(Functions::Sha512);
        #[cfg(feature = "whirlwind-alternatives")]
        $test::<WithSha256>(Functions::Sha256);
        #[cfg(feature = "whirlwind-alternatives")]
        $test::<WithDaviesMeyer>(Functions::DaviesMeyer);
    }};
}

fn pair<C: Choice>(functions: Functions) -> (Whirlwind<C, ScriptedMachine>, Reference) {
    let (ours, theirs) = (ScriptedMachine::default(), ScriptedMachine::default());
    (Whirlwind::new(ours), Reference::new(functions, theirs))
}

fn input(number: u32) -> Input {
    Input {
        source: 7,
        cycles: number.wrapping_mul(2_654_435_761),
        values: [number, !number],
    }
}

fn generate<C: Choice>(whirlwind: &Whirlwind<C, ScriptedMachine>, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    whirlwind.generate(&mut out);
    out
}

/// S_fast and S_slow begin as h(IV, 1) and h(IV, 2), which equal SHA-512 of the numbers
/// (the constants in the code that the authors published).
fn constants_are_the_published_ones() {
    let reference = Reference::new(Functions::Sha512, ScriptedMachine::default());
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02x}")).collect() };
    assert_eq!(
        hex(&reference.fast),
        "df9c478c05321087b50a1d239b4aab290e9b793252758e706e24312aed21c290\
         72285e436a20c3c6227f99b73638f0414fba5835586fee4e19231c1ec56d58ee"
    );
    assert_eq!(
        hex(&reference.published),
        "dfa8db1c35931931a6007f85a9f4035928cf159357ff8d682a50b6a0f3dfa0e0\
         20ed4eb377f6011446f351f7001bae06932ad0cb662e01f07acf6aee257d3bad"
    );
}

fn outputs_are_the_references() {
    fn test<C: Choice>(functions: Functions) {
        let (whirlwind, mut reference) = pair::<C>(functions);
        for (round, len) in [1, 31, 32, 33, 64, 65, 0, 200, 4096]
            .into_iter()
            .enumerate()
        {
            for number in 0..round as u32 * 5 {
                whirlwind.add(input(number));
                reference.add(input(number));
            }
            assert_eq!(
                generate(&whirlwind, len),
                reference.generate(len),
                "{functions:?} {len}"
            );
        }
    }
    for_each_choice!(test);
}

/// The slow seed is put in use at the right times: after 100 inputs, and every 50 compressions.
fn long_runs_are_the_references() {
    fn test<C: Choice>(functions: Functions) {
        let (whirlwind, mut reference) = pair::<C>(functions);
        let mut published = vec![reference.published.clone()];
        for number in 0..9000 {
            whirlwind.add(input(number));
            reference.add(input(number));
            if number % 97 == 0 || (95..105).contains(&number) {
                assert_eq!(
                    generate(&whirlwind, 40),
                    reference.generate(40),
                    "{functions:?}"
                );
            }
            if published.last() != Some(&reference.published) {
                published.push(reference.published.clone());
            }
        }
        let compressions = 900 / if functions == Functions::Sha256 { 4 } else { 8 };
        assert_eq!(published.len(), 2 + compressions / 50, "{functions:?}");
    }
    for_each_choice!(test);
}

fn bootstraps_are_the_references() {
    fn test<C: Choice>(functions: Functions) {
        let (whirlwind, mut reference) = pair::<C>(functions);
        for _ in 0..3 {
            whirlwind.bootstrap();
            reference.bootstrap();
            assert_eq!(
                generate(&whirlwind, 100),
                reference.generate(100),
                "{functions:?}"
            );
        }
    }
    for_each_choice!(test);
}

/// The state after an output is a one-way function of the one before, so the output cannot be computed
/// from it. The control keeps the old seed.
fn backtracking_needs_the_old_seed() {
    let (_, mut reference) = pair::<WithSha512>(Functions::Sha512);
    reference.bootstrap();
    let before = reference.clone();
    let machine = reference.machine.copy();
    let output = reference.generate(64);
    let mut captured = reference.clone();
    captured.rewind(&before, machine.copy());
    assert_ne!(
        captured.generate(64),
        output,
        "state after the output gives it back"
    );
    captured.rewind(&before, machine.copy());
    captured.fast = before.fast.clone();
    assert_eq!(
        captured.generate(64),
        output,
        "the control: the seed was kept"
    );
}

/// Inputs from an attacker or a broken source do not make outputs repeat.
fn bad_inputs_do_no_harm() {
    fn test<C: Choice>(_: Functions) {
        let whirlwind = Whirlwind::<C, ScriptedMachine>::new(ScriptedMachine::default());
        let mut seen = std::collections::HashSet::new();
        let words = [0, u32::MAX, 0x5555_5555];
        for word in words {
            for _ in 0..5000 {
                whirlwind.add(Input {
                    source: word,
                    cycles: word,
                    values: [word; 2],
                });
            }
            for _ in 0..100 {
                assert!(seen.insert(generate(&whirlwind, 16)));
            }
        }
    }
    for_each_choice!(test);
}

/// Threads that share a Whirlwind never get the same bytes, even on a machine that never changes.
fn threads_do_not_repeat() {
    const THREADS: usize = 8;
    const DRAWS: usize = 5000;
    let shared = Whirlwind::<WithSha512, ConstantMachine>::new(ConstantMachine);
    let drawn: Vec<[u8; 16]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut handle = &shared;
                    (0..DRAWS)
                        .map(|number| {
                            handle.add_input(input(number as u32));
                            let mut out = [0; 16];
                            handle.generate(&mut out);
                            out
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    });
    let distinct: std::collections::HashSet<_> = drawn.iter().collect();
    assert_eq!(distinct.len(), THREADS * DRAWS);
}

/// A machine whose values never change.
struct ConstantMachine;

impl squall::entropy::Machine for ConstantMachine {
    fn cycles(&self) -> u64 {
        1
    }
    fn process(&self) -> u32 {
        1
    }
    fn cpu(&self) -> u32 {
        1
    }
    fn random(&self, out: &mut [u8; 32]) {
        out.fill(0);
    }
}

pub const TESTS: &[Test<fn()>] = tests![
    constants_are_the_published_ones,
    outputs_are_the_references,
    long_runs_are_the_references,
    bootstraps_are_the_references,
    backtracking_needs_the_old_seed,
    bad_inputs_do_no_harm,
    threads_do_not_repeat,
];
