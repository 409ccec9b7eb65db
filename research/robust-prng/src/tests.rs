//! Tests the generator and its field against a slow reference, what it refuses, and that it wipes itself.

mod reference;

use super::portable::{DoubleWords, WORDS, Words};
use super::*;
use reference::{Field, SlowRobust};
use squall_testing::suite::{self, Test};
#[cfg(target_arch = "x86_64")]
use squall_testing::suite::{NOTHING, Need};
use squall_testing::tests;

const TESTS: &[Test] = tests![
    outputs_match_the_reference,
    dropping_it_wipes_everything,
    elements_multiply_like_the_reference,
    portable_code_multiplies_like_the_reference,
    other_lengths_of_a_seed_are_refused,
    bits_of_a_seed_beyond_n_are_ignored,
    inputs_that_do_not_fit_are_refused,
    as_an_accumulator_it_is_the_same,
];

#[cfg(target_arch = "x86_64")]
const TESTS_OF_X86_64: &[Test] = tests![
    pclmulqdq_multiplies_like_the_reference: [PCLMULQDQ],
];

#[cfg(not(target_arch = "x86_64"))]
const TESTS_OF_X86_64: &[Test] = &[];

pub fn main() -> std::process::ExitCode {
    suite::main(&[TESTS, TESTS_OF_X86_64])
}

/// The field, as the slow generator has it.
const SLOW: Field = Field {
    degree: 489,
    taps: &[83, 0],
};

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
    fn element(&mut self) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..Element::LEN).map(|_| self.next() as u8).collect();
        bytes[Element::LEN - 1] &= 0xff >> (8 * Element::LEN - DEGREE);
        bytes
    }

    fn robust(&mut self) -> Robust {
        Robust::new(&self.element(), &self.element()).expect("not zero")
    }
}

impl Element {
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut element = Element::zero();
        element.set(bytes);
        element
    }

    fn bits(&self) -> Vec<bool> {
        let mut bits = word_bits(self.words());
        assert!(!bits[DEGREE..].contains(&true));
        bits.truncate(DEGREE);
        bits
    }
}

impl Robust {
    fn output(&mut self) -> [u8; OUTPUT_LEN] {
        let mut out = [0; OUTPUT_LEN];
        self.next(&mut out);
        out
    }
}

fn word_bits(words: &[u64]) -> Vec<bool> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    reference::bits(&bytes)
}

fn outputs_match_the_reference() {
    let mut numbers = Numbers(1);
    let (x, x_prime) = (numbers.element(), numbers.element());
    let mut fast = Robust::new(&x, &x_prime).unwrap();
    let mut slow = SlowRobust::new(SLOW, &x, &x_prime);
    for round in 0..40 {
        let mut input = numbers.element();
        if round % 3 == 0 {
            input.truncate(numbers.next() as usize % (input.len() + 1));
        }
        fast.refresh(&input).unwrap();
        slow.refresh(&input);
        assert_eq!(fast.state.bits(), slow.state, "refresh");
        if round % 2 == 0 {
            assert_eq!(fast.output(), slow.next(), "output");
            assert_eq!(fast.state.bits(), slow.state, "next");
        }
    }
    // An output takes five blocks of AES by the paper's table.
    assert_eq!((slow.blocks, KEYSTREAM_LEN), (20 * 5, 5 * BLOCK));
}

fn dropping_it_wipes_everything() {
    let mut place = Box::new(core::mem::MaybeUninit::new(Numbers(8).robust()));
    let robust = place.as_mut_ptr();
    // SAFETY: the place was just filled; it is dropped once, and its memory read while the box
    // still has it.
    let left = unsafe {
        (*robust).refresh(&[0xa5; 60]).unwrap();
        assert!(!(*robust).state.is_zero());
        robust.drop_in_place();
        robust.cast::<[u8; size_of::<Robust>()]>().read()
    };
    assert!(left.iter().all(|&byte| byte == 0));
}

/// Zero, one, all ones, single bits at the edges of words, and some that look random.
fn elements() -> Vec<Element> {
    let mut numbers = Numbers(2);
    let single = |bit: usize| {
        let mut bits = vec![false; DEGREE];
        bits[bit] = true;
        reference::bytes(&bits)
    };
    let edges = (0..DEGREE).filter(|bit| bit % 64 <= 1 || bit % 64 == 63 || bit + 1 == DEGREE);
    let mut bytes: Vec<Vec<u8>> = edges.map(single).collect();
    bytes.extend([0, 0xff, 0xaa].map(|byte| vec![byte; Element::LEN]));
    bytes.extend((0..20).map(|_| numbers.element()));
    let elements = bytes.iter().map(|bytes| Element::from_bytes(bytes));
    elements.collect()
}

/// Reduced products, in the way that this CPU has for them.
fn elements_multiply_like_the_reference() {
    let elements = elements();
    for b in &elements {
        for a in &elements {
            let mut product = Element::zero();
            product.copy_from(a);
            product.multiply_by(b);
            assert!(product.bits() == SLOW.multiply(&a.bits(), &b.bits()));
        }
    }
}

/// `multiply`, which does not reduce, takes whole words too, with coefficients beyond an element's n.
fn check_multiply(multiply: fn(&Words, &Words, &mut DoubleWords)) {
    let mut numbers = Numbers(1);
    let mut words = || core::array::from_fn(|_| numbers.next());
    let mut factors = vec![[[u64::MAX; WORDS]; 2]];
    factors.extend((0..200).map(|_| [words(), words()]));
    let elements = elements();
    let pairs = elements
        .iter()
        .flat_map(|a| elements.iter().map(move |b| [a, b]));
    factors.extend(pairs.map(|pair| pair.map(|element| *element.words())));
    for [a, b] in &factors {
        let mut product = [0; 2 * WORDS];
        multiply(a, b, &mut product);
        assert!(word_bits(&product) == reference::product(&word_bits(a), &word_bits(b)));
    }
}

fn portable_code_multiplies_like_the_reference() {
    check_multiply(portable::multiply);
}

/// PCLMULQDQ, as the kernel reports it.
#[cfg(target_arch = "x86_64")]
const PCLMULQDQ: Need = Need {
    check: || {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").map_err(|error| error.to_string())?;
        let has_it = cpu.split_whitespace().any(|word| word == "pclmulqdq");
        has_it
            .then_some(())
            .ok_or_else(|| "this CPU lacks pclmulqdq".into())
    },
    required_by: NOTHING,
};

#[cfg(target_arch = "x86_64")]
fn pclmulqdq_multiplies_like_the_reference() {
    assert!(pclmul::is_available());
    check_multiply(pclmul::multiply);
}

/// A seed, the same in every call.
fn seed() -> (Vec<u8>, Vec<u8>) {
    let mut numbers = Numbers(3);
    (numbers.element(), numbers.element())
}

fn robust() -> Robust {
    Numbers(3).robust()
}

/// Two generators with the same state give the same output.
fn same(a: &mut Robust, b: &mut Robust) -> bool {
    a.output() == b.output()
}

fn other_lengths_of_a_seed_are_refused() {
    let element = [1; Robust::ELEMENT_LEN];
    let mut only_beyond_n = [0; Robust::ELEMENT_LEN];
    only_beyond_n[Robust::ELEMENT_LEN - 1] = 0xff << (DEGREE % 8);
    for wrong in [
        &element[1..],
        &[1; Robust::ELEMENT_LEN + 1],
        &[],
        &[0; Robust::ELEMENT_LEN],
        &only_beyond_n,
    ] {
        assert!(Robust::new(wrong, &element).is_err());
        assert!(Robust::new(&element, wrong).is_err());
    }
}

fn bits_of_a_seed_beyond_n_are_ignored() {
    let output_of = |x_bits: u8, x_prime_bits: u8| {
        let (mut x, mut x_prime) = seed();
        x[61] ^= x_bits;
        x_prime[61] ^= x_prime_bits;
        let mut robust = Robust::new(&x, &x_prime).unwrap();
        robust.refresh(&[3; 60]).unwrap();
        robust.refresh(&[4; 60]).unwrap();
        robust.output()
    };
    assert_eq!(output_of(0xfe, 0x80), output_of(0, 0));
    // The control: bit 488 counts.
    assert_ne!(output_of(1, 0), output_of(0, 0));
    assert_ne!(output_of(0, 1), output_of(0, 0));
}

fn inputs_that_do_not_fit_are_refused() {
    let allowed = Robust::ELEMENT_LEN;
    let (mut robust, mut untouched) = (robust(), robust());
    assert!(robust.refresh(&vec![0; allowed + 1]).is_err());
    for bit in DEGREE..8 * allowed {
        let mut input = vec![0; allowed];
        input[bit / 8] |= 1 << (bit % 8);
        assert!(robust.refresh(&input).is_err());
    }
    assert!(
        same(&mut robust, &mut untouched),
        "a refused input changed the state"
    );
    // The control: the last bit that fits.
    let mut input = vec![0; allowed];
    input[allowed - 1] = 1 << ((DEGREE - 1) % 8);
    robust.refresh(&input).unwrap();
    untouched.refresh(&[]).unwrap();
    assert!(!same(&mut robust, &mut untouched));
}

fn as_an_accumulator_it_is_the_same() {
    for len in [0, 1, 15, 16, 17, 31, 32, 100] {
        let (mut accumulator, mut robust) = (robust(), robust());
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
