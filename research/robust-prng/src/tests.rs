//! Shared code of this module's tests, and comparisons of the generator with the slow one.

mod field;
mod game;
mod interface;
mod reference;

use super::sealed::Field as Sealed;
use super::*;
use reference::{Parameters, SlowRobust};
use squall_testing::suite::{self, Test};
use squall_testing::tests;

/// F_2^23 with keys of 6 bits: small enough for every input.
pub struct Gf23;

impl Field for Gf23 {}

impl Sealed for Gf23 {
    const DEGREE: usize = 23;
    const TAPS: &'static [usize] = &[5, 0];
    const KEY_BITS: usize = 6;
}

/// The slow generator's parameters.
trait Slow: Field {
    const SLOW: Parameters;
}

/// A field of the paper, and what its table says of it.
trait Published: Slow {
    const GAMMA: usize;
    const BLOCKS: usize;
}

macro_rules! published {
    ($field:ty, $degree:literal, $taps:expr, $gamma:literal, $blocks:literal) => {
        impl Slow for $field {
            const SLOW: Parameters = Parameters {
                degree: $degree,
                taps: &$taps,
                key_bits: 128,
            };
        }

        impl Published for $field {
            const GAMMA: usize = $gamma;
            const BLOCKS: usize = $blocks;
        }
    };
}

published!(Gf489, 489, [83, 0], 449, 5);
published!(Gf579, 579, [12, 9, 7, 0], 529, 6);
published!(Gf705, 705, [17, 0], 641, 7);

impl Slow for Gf23 {
    const SLOW: Parameters = Parameters {
        degree: 23,
        taps: &[5, 0],
        key_bits: 6,
    };
}

/// Numbers that look random and are always the same (SplitMix64; G. Steele, D. Lea, C. Flood,
/// 2014).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An element's bytes.
    fn element<F: Field>(&mut self) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..Element::<F>::LEN).map(|_| self.next() as u8).collect();
        let spare = 8 * Element::<F>::LEN - F::DEGREE;
        *bytes.last_mut().unwrap() &= 0xff >> spare;
        bytes
    }

    fn robust<F: Field>(&mut self) -> Robust<F> {
        Robust::new(&self.element::<F>(), &self.element::<F>()).expect("not zero")
    }
}

impl<F: Field> Element<F> {
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut element = Element::zero();
        element.set(bytes);
        element
    }

    fn to_bytes(&self) -> Vec<u8> {
        let words: Vec<u8> = self.words().iter().flat_map(|w| w.to_le_bytes()).collect();
        assert!(words[Self::LEN..].iter().all(|&byte| byte == 0));
        words[..Self::LEN].to_vec()
    }

    fn bits(&self) -> Vec<bool> {
        let mut bits = reference::bits(&self.to_bytes());
        assert!(!bits[F::DEGREE..].contains(&true));
        bits.truncate(F::DEGREE);
        bits
    }
}

impl<F: Field> Robust<F> {
    /// A copy with the same seed and state, as an attacker has it after a compromise.
    fn stolen(&self) -> Self {
        Robust {
            x: Element::from_bytes(&self.x.to_bytes()),
            x_prime: Element::from_bytes(&self.x_prime.to_bytes()),
            state: Element::from_bytes(&self.state.to_bytes()),
        }
    }

    fn output(&mut self) -> [u8; OUTPUT_LEN] {
        let mut out = [0; OUTPUT_LEN];
        self.next(&mut out);
        out
    }
}

fn agrees_with_the_slow_one<F: Slow>() {
    let mut numbers = Numbers(F::DEGREE as u64);
    let (x, x_prime) = (numbers.element::<F>(), numbers.element::<F>());
    let mut fast = Robust::<F>::new(&x, &x_prime).unwrap();
    let mut slow = SlowRobust::new(F::SLOW, &x, &x_prime);
    for round in 0..40 {
        let mut input = numbers.element::<F>();
        if round % 3 == 0 {
            input.truncate(numbers.next() as usize % (input.len() + 1));
        }
        fast.refresh(&input).unwrap();
        slow.refresh(&input);
        assert_eq!(fast.state.bits(), slow.state, "n = {}: refresh", F::DEGREE);
        if round % 2 == 0 {
            assert_eq!(fast.output(), slow.next(), "n = {}: output", F::DEGREE);
            assert_eq!(fast.state.bits(), slow.state, "n = {}: next", F::DEGREE);
        }
    }
    let blocks = Robust::<F>::KEYSTREAM_LEN / BLOCK;
    assert_eq!(slow.blocks, 20 * blocks, "n = {}: blocks", F::DEGREE);
}

fn every_field_agrees_with_the_slow_generator() {
    agrees_with_the_slow_one::<Gf489>();
    agrees_with_the_slow_one::<Gf579>();
    agrees_with_the_slow_one::<Gf705>();
    agrees_with_the_slow_one::<Gf23>();
}

fn an_output_takes_the_blocks_of_the_table() {
    fn check<F: Published>() {
        assert_eq!(Robust::<F>::KEYSTREAM_LEN, F::BLOCKS * BLOCK);
    }
    check::<Gf489>();
    check::<Gf579>();
    check::<Gf705>();
}

/// Whether a stolen state reveals an output, either directly or in its next output.
fn gives_back<F: Field>(stolen: &mut Robust<F>, output: [u8; OUTPUT_LEN]) -> bool {
    let bits = reference::bits(&output);
    let shown = stolen.state.bits().windows(bits.len()).any(|w| w == bits);
    shown || (0..100).any(|_| stolen.output() == output)
}

fn does_not_give_outputs_back<F: Field>() {
    let mut numbers = Numbers(7);
    let mut robust = numbers.robust::<F>();
    robust.refresh(&numbers.element::<F>()).unwrap();
    for _ in 0..20 {
        let before = robust.stolen();
        let output = robust.output();
        assert!(!gives_back(&mut robust.stolen(), output));
        // The control: a state that was kept reveals the output.
        assert!(gives_back(&mut before.stolen(), output));
    }
}

fn a_state_stolen_after_an_output_does_not_give_it_back() {
    does_not_give_outputs_back::<Gf489>();
    does_not_give_outputs_back::<Gf579>();
    does_not_give_outputs_back::<Gf705>();
}

fn dropping_it_wipes_everything() {
    let mut place = Box::new(core::mem::MaybeUninit::new(Numbers(8).robust::<Gf705>()));
    let robust = place.as_mut_ptr();
    // SAFETY: the place was just filled; it is dropped once, and its memory read while the box
    // still has it.
    let left = unsafe {
        (*robust).refresh(&[0xa5; 80]).unwrap();
        assert!(!(*robust).state.is_zero());
        robust.drop_in_place();
        robust.cast::<[u8; size_of::<Robust<Gf705>>()]>().read()
    };
    assert!(left.iter().all(|&byte| byte == 0));
}

const TESTS: &[Test] = tests![
    every_field_agrees_with_the_slow_generator,
    an_output_takes_the_blocks_of_the_table,
    a_state_stolen_after_an_output_does_not_give_it_back,
    dropping_it_wipes_everything,
];

pub fn main() -> std::process::ExitCode {
    suite::main(&[
        TESTS,
        field::TESTS,
        field::TESTS_OF_X86_64,
        game::TESTS,
        interface::TESTS,
    ])
}
