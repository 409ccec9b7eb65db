//! The fields: all ways to multiply against a slow one, the laws, and the polynomials.

use super::super::field::{DoubleWords, MAX_WORDS, Words};
use super::super::portable;
use super::*;
use std::io::Write;

type Multiply = fn(&Words, &Words, &mut DoubleWords);

/// The ways to multiply that this CPU has. `cpuid.rs` tests that none is overlooked.
#[allow(unused_mut, reason = "one is of x86-64 only")]
fn kernels<F: Field>() -> Vec<(&'static str, Multiply)> {
    let mut kernels: Vec<(_, Multiply)> = vec![("portable", portable::multiply::<F>)];
    #[cfg(target_arch = "x86_64")]
    if pclmul::is_available() {
        kernels.push(("pclmul", pclmul::multiply::<F>))
    } else {
        skip("pclmul: this CPU lacks PCLMULQDQ")
    }
    kernels
}

fn skip(what: &str) {
    let line = format!("SKIP {what}\n");
    let written = std::io::stderr().write_all(line.as_bytes());
    written.expect("standard error takes a line");
}

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

fn times_fixed<F: Field>(a: &Element<F>, factor: &Factor<F>) -> Element<F> {
    let mut product = Element::zero();
    product.set_product(a, factor);
    product
}

fn plus<F: Field>(a: &Element<F>, b: &Element<F>) -> Element<F> {
    let mut sum = Element::from_bytes(&a.to_bytes());
    sum.add(&b.to_bytes());
    sum
}

fn products_are_right<F: Slow>() {
    let elements = elements::<F>();
    for b in &elements {
        let factor = Factor::from_bytes(&b.to_bytes());
        for a in &elements {
            let expected = reference::product(&a.bits(), &b.bits());
            for (name, multiply) in kernels::<F>() {
                let mut product = [0; 2 * MAX_WORDS];
                multiply(a.words(), b.words(), &mut product);
                let bits = word_bits(&product);
                assert!(
                    bits[..expected.len()] == expected,
                    "{name}, n = {}",
                    F::DEGREE
                );
                assert!(
                    !bits[expected.len()..].contains(&true),
                    "{name}, n = {}",
                    F::DEGREE
                );
            }
            let reduced = F::SLOW.reduce(expected);
            assert!(times(a, b).bits() == reduced, "n = {}", F::DEGREE);
            assert!(
                times_fixed(a, &factor).bits() == reduced,
                "fixed factor, n = {}",
                F::DEGREE
            );
        }
    }
}

#[test]
fn every_kernel_multiplies_as_the_slow_one() {
    #[cfg(target_arch = "x86_64")]
    if !vpclmul::serves::<Gf489>() {
        skip("vpclmul: this CPU lacks VPCLMULQDQ or AVX-512");
    }
    products_are_right::<Gf489>();
    products_are_right::<Gf579>();
    products_are_right::<Gf705>();
    products_are_right::<Gf23>();
    products_are_right::<Gf7>();
}

fn sums_are_right<F: Field>() {
    let mut numbers = Numbers(2);
    let factor = Factor::<F>::from_bytes(&numbers.element::<F>());
    let ones = Element::<F>::from_bytes(&vec![0xff; Element::<F>::LEN]).to_bytes();
    for len in 0..=Element::<F>::LEN {
        let a = Element::<F>::from_bytes(&numbers.element::<F>());
        let mut sum = Element::from_bytes(&a.to_bytes());
        sum.multiply_add(&factor, &ones[..len]);
        let expected = plus(
            &times(&a, factor.element()),
            &Element::from_bytes(&ones[..len]),
        );
        assert_eq!(sum.to_bytes(), expected.to_bytes(), "{len} bytes");
    }
}

#[test]
fn bytes_of_every_length_are_added_to_a_product() {
    sums_are_right::<Gf489>();
    sums_are_right::<Gf579>();
    sums_are_right::<Gf705>();
    sums_are_right::<Gf23>();
    sums_are_right::<Gf7>();
}

/// Words beyond an element's degree, which elements never have: the kernels take them all.
fn full_words_are_multiplied<F: Field>() {
    let mut numbers = Numbers(1);
    for round in 0..200 {
        let mut draw = || match round {
            0 => u64::MAX,
            _ => numbers.next(),
        };
        let mut a = [0; MAX_WORDS];
        let mut b = [0; MAX_WORDS];
        a[..F::WORDS].fill_with(&mut draw);
        b[..F::WORDS].fill_with(&mut draw);
        let expected = reference::product(&word_bits(&a), &word_bits(&b));
        for (name, multiply) in kernels::<F>() {
            let mut product = [0; 2 * MAX_WORDS];
            multiply(&a, &b, &mut product);
            assert!(word_bits(&product) == expected, "{name}, n = {}", F::DEGREE);
        }
    }
}

#[test]
fn both_kernels_multiply_full_words() {
    full_words_are_multiplied::<Gf489>();
    full_words_are_multiplied::<Gf579>();
    full_words_are_multiplied::<Gf705>();
    full_words_are_multiplied::<Gf7>();
}

fn laws_hold<F: Field>() {
    let one = Element::<F>::from_bytes(&[1]);
    let elements = elements::<F>();
    let factor = &elements[elements.len() - 1];
    for a in &elements {
        assert_eq!(times(a, &one).to_bytes(), a.to_bytes());
        assert!(times(a, &Element::zero()).is_zero());
        for b in &elements {
            assert_eq!(times(a, b).to_bytes(), times(b, a).to_bytes());
            let whole = times(&plus(a, b), factor);
            let parts = plus(&times(a, factor), &times(b, factor));
            assert_eq!(whole.to_bytes(), parts.to_bytes());
        }
    }
}

#[test]
fn the_laws_of_a_field_hold() {
    laws_hold::<Gf489>();
    laws_hold::<Gf579>();
    laws_hold::<Gf705>();
}

/// In a field of 2^n elements, squaring n times changes nothing, and once changes most.
fn squaring_comes_around<F: Field>() {
    for element in &elements::<F>() {
        let mut power = times(element, element);
        for _ in 1..F::DEGREE {
            power = times(&power, &power);
        }
        assert_eq!(power.to_bytes(), element.to_bytes(), "n = {}", F::DEGREE);
    }
}

#[test]
fn squaring_n_times_changes_nothing() {
    squaring_comes_around::<Gf489>();
    squaring_comes_around::<Gf579>();
    squaring_comes_around::<Gf705>();
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

#[test]
fn the_polynomials_are_irreducible() {
    fn check<F: Field>() {
        assert!(is_irreducible(F::DEGREE, F::TAPS), "n = {}", F::DEGREE);
    }
    check::<Gf489>();
    check::<Gf579>();
    check::<Gf705>();
    check::<Gf23>();
    check::<Gf7>();
}

#[test]
fn wrong_polynomials_are_found() {
    // One exponent off.
    assert!(!is_irreducible(489, &[84, 0]));
    assert!(!is_irreducible(579, &[12, 9, 8, 0]));
    assert!(!is_irreducible(705, &[18, 0]));
    // (x^3 + x + 1)(x^3 + x^2 + 1): every factor's degree divides 6, so only the gcd shows it.
    assert!(!is_irreducible(6, &[5, 4, 3, 2, 1, 0]));
    assert!(is_irreducible(6, &[1, 0]));
}
