//! Whether what a source gives can be random at all. Who gives zeros fast is not ranked.
//!
//! No test of quality, which is what `--batteries` is for: each of these has a chance below 2^-60
//! to disqualify a good source.

use std::collections::HashSet;

use squall_tools::Failure;

use crate::source::Source;

/// Bytes that are looked at, twice of requests by length and once of numbers.
const LEN: usize = 64 << 10;

/// Length of the blocks that must all differ.
const BLOCK: usize = 16;

/// Why `source` cannot be a source of random bytes; none if it may be one.
///
/// # Errors
/// It gives no bytes.
pub fn check(source: &mut dyn Source) -> Result<Option<String>, Failure> {
    let mut samples = vec![0; 2 * LEN];
    let (first, second) = samples.split_at_mut(LEN);
    source.sample(first)?;
    source.sample(second)?;
    let mut numbers = vec![0; LEN];
    source.numbers(&mut numbers)?;
    let of_numbers = |complaint| format!("numbers: {complaint}");
    Ok(complaint(&samples).or_else(|| complaint(&numbers).map(of_numbers)))
}

fn complaint(bytes: &[u8]) -> Option<String> {
    if let Some(&first) = bytes.first()
        && bytes.iter().all(|&byte| byte == first)
    {
        return Some(format!("all its bytes are {first:#04x}"));
    }
    let mut seen = HashSet::new();
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    if !blocks.iter().all(|block| seen.insert(block)) {
        return Some(format!("it repeated a block of {BLOCK} bytes"));
    }
    biased(bytes)
}

/// Ones among the bits, if they are further from half than 9 standard deviations.
fn biased(bytes: &[u8]) -> Option<String> {
    let bits = bytes.len() as f64 * 8.0;
    let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
    let deviations = (f64::from(ones) - bits / 2.0) / (bits.sqrt() / 2.0);
    let percent = f64::from(ones) / bits * 100.0;
    (deviations.abs() > 9.0).then(|| format!("{percent:.1} % of its bits are ones"))
}
