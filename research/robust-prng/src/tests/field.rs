//! The fields: all ways to multiply against a slow one, and the polynomials.

use super::super::portable;
use super::super::sealed::{DoubleWords, MAX_WORDS, Words};
use super::*;
#[cfg(target_arch = "x86_64")]
use squall_testing::suite::{NOTHING, Need};

type Multiply = fn(&Words, &Words, &mut DoubleWords);

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

/// Zero, one, all ones, single bits at the edges of words, and some that look random.
fn elements<F: Field>() -> Vec<Element<F>> {
    let mut numbers = Numbers(F::DEGREE as u64);
    let single = |bit: usize| {
        let mut bits = vec![false; F::DEGREE];
        bits[bit] = true;
        reference::bytes(&bits)
    };
    let edges =
        (0..F::DEGREE).filter(|bit| bit % 64 <= 1 || bit % 64 == 63 || bit + 1 == F::DEGREE);
    let mut bytes: Vec<Vec<u8>> = edges.map(single).collect();
    bytes.push(vec![0; Element::<F>::LEN]);
    bytes.push(vec![0xff; Element::<F>::LEN]);
    bytes.push(vec![0xaa; Element::<F>::LEN]);
    bytes.extend((0..20).map(|_| numbers.element::<F>()));
    bytes
        .iter()
        .map(|bytes| Element::from_bytes(bytes))
        .collect()
}

fn word_bits(words: &[u64]) -> Vec<bool> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    reference::bits(&bytes)
}

fn times<F: Field>(a: &Element<F>, b: &Element<F>) -> Element<F> {
    let mut product = Element::from_bytes(&a.to_bytes());
    product.multiply_by(b);
    product
}

/// `multiply`, which does not reduce, takes whole words too, with coefficients beyond an element's n.
fn check_multiply<F: Field>(multiply: Multiply) {
    let mut numbers = Numbers(1);
    let mut words = |fill: Option<u64>| {
        let mut words = [0; MAX_WORDS];
        words[..F::WORDS].fill_with(|| fill.unwrap_or_else(|| numbers.next()));
        words
    };
    let mut factors = vec![[words(Some(u64::MAX)); 2]];
    factors.extend((0..200).map(|_| [words(None), words(None)]));
    let elements = elements::<F>();
    let pairs = elements
        .iter()
        .flat_map(|a| elements.iter().map(move |b| [a, b]));
    factors.extend(pairs.map(|pair| pair.map(|element| *element.words())));
    for [a, b] in &factors {
        let mut product = [0; 2 * MAX_WORDS];
        multiply(a, b, &mut product);
        let expected = reference::product(&word_bits(a), &word_bits(b));
        assert!(word_bits(&product) == expected, "n = {}", F::DEGREE);
    }
}

/// Whether `multiply` multiplies right for every length of elements.
macro_rules! multiplies {
    ($multiply:path) => {{
        use $multiply as multiply;
        check_multiply::<Gf489>(multiply::<Gf489>);
        check_multiply::<Gf579>(multiply::<Gf579>);
        check_multiply::<Gf23>(multiply::<Gf23>);
    }};
}

fn portable_code_multiplies_as_the_slow_one() {
    multiplies!(portable::multiply);
}

#[cfg(target_arch = "x86_64")]
fn pclmulqdq_multiplies_as_the_slow_one() {
    assert!(pclmul::is_available());
    multiplies!(pclmul::multiply);
}

/// Reduced products, in the way that this CPU has for them.
fn check_products<F: Slow>() {
    let elements = elements::<F>();
    for b in &elements {
        for a in &elements {
            let expected = F::SLOW.multiply(&a.bits(), &b.bits());
            assert!(times(a, b).bits() == expected, "n = {}", F::DEGREE);
        }
    }
}

fn every_field_multiplies_as_the_slow_one() {
    check_products::<Gf489>();
    check_products::<Gf579>();
    check_products::<Gf23>();
}

/// Whether x^degree plus the terms of `taps` is irreducible (M. Rabin: Probabilistic Algorithms
/// in Finite Fields, 1980): x^(2^n) = x, and x^(2^(n/p)) - x is prime to it for every prime p
/// that divides n.
fn is_irreducible(degree: usize, taps: &'static [usize]) -> bool {
    let field = Parameters {
        degree,
        taps,
        key_bits: 0,
    };
    let mut polynomial = vec![false; degree + 1];
    polynomial[degree] = true;
    taps.iter().for_each(|&tap| polynomial[tap] = true);
    let mut x = vec![false; degree];
    x[1] = true;
    let mut power = x.clone();
    for i in 1..=degree {
        power = field.multiply(&power, &power);
        let is_maximal = degree.is_multiple_of(i) && is_prime(degree / i);
        let difference = power.iter().zip(&x).map(|(a, b)| a ^ b).collect();
        if is_maximal && gcd(polynomial.clone(), difference) != [true] {
            return false;
        }
    }
    power == x
}

fn is_prime(number: usize) -> bool {
    number > 1 && (2..number).all(|divisor| !number.is_multiple_of(divisor))
}

/// The greatest common divisor of two polynomials, without leading zeros.
fn gcd(mut a: Vec<bool>, mut b: Vec<bool>) -> Vec<bool> {
    let trim = |polynomial: &mut Vec<bool>| {
        let len = polynomial.iter().rposition(|&bit| bit).map_or(0, |i| i + 1);
        polynomial.truncate(len);
    };
    trim(&mut a);
    trim(&mut b);
    while !b.is_empty() {
        if a.len() < b.len() {
            core::mem::swap(&mut a, &mut b);
        }
        if b.is_empty() {
            break;
        }
        let shift = a.len() - b.len();
        b.iter()
            .enumerate()
            .for_each(|(i, bit)| a[i + shift] ^= bit);
        trim(&mut a);
    }
    a
}

fn the_polynomials_are_irreducible() {
    fn check<F: Field>() {
        assert!(is_irreducible(F::DEGREE, F::TAPS), "n = {}", F::DEGREE);
    }
    check::<Gf489>();
    check::<Gf579>();
    check::<Gf23>();
}

fn wrong_polynomials_are_found() {
    // One exponent off.
    assert!(!is_irreducible(489, &[84, 0]));
    assert!(!is_irreducible(579, &[12, 9, 8, 0]));
    assert!(!is_irreducible(705, &[18, 0]));
    // (x^3 + x + 1)(x^3 + x^2 + 1): every factor's degree divides 6, so only the gcd shows it.
    assert!(!is_irreducible(6, &[5, 4, 3, 2, 1, 0]));
    assert!(is_irreducible(6, &[1, 0]));
}

pub const TESTS: &[Test] = tests![
    portable_code_multiplies_as_the_slow_one,
    every_field_multiplies_as_the_slow_one,
    the_polynomials_are_irreducible,
    wrong_polynomials_are_found,
];

#[cfg(target_arch = "x86_64")]
pub const TESTS_OF_X86_64: &[Test] = tests![
    pclmulqdq_multiplies_as_the_slow_one: [PCLMULQDQ],
];

#[cfg(not(target_arch = "x86_64"))]
pub const TESTS_OF_X86_64: &[Test] = &[];
