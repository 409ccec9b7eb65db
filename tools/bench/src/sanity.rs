//! Whether what a source gives can be random at all. Who gives zeros fast is not ranked.
//!
//! No test of quality, which is what `--statistics` is for: each of these has a chance below 2^-60
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

/// What is wrong with `bytes`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Draw;

    fn check_of(draw: impl Draw) -> Option<String> {
        let mut draw = draw;
        check(&mut draw).unwrap()
    }

    struct By<F>(F);

    impl<F: FnMut(&mut [u8])> Draw for By<F> {
        fn fill(&mut self, out: &mut [u8]) {
            (self.0)(out);
        }
    }

    #[test]
    fn good_bytes_pass() {
        for _ in 0..20 {
            assert_eq!(check_of(By(squall::fill)), None);
        }
    }

    /// A source whose numbers are made by other code than its bytes.
    struct Counting(u32);

    impl Draw for Counting {
        fn fill(&mut self, out: &mut [u8]) {
            squall::fill(out);
        }

        fn u32(&mut self) -> u32 {
            self.0 = (self.0 + 1) % 4;
            self.0
        }
    }

    #[test]
    fn numbers_are_looked_at_too() {
        let complaint = check_of(Counting(0)).unwrap();
        assert!(complaint.starts_with("numbers: it repeated"), "{complaint}");
    }

    #[test]
    fn impossible_bytes_are_named() {
        let zeros = By(|out: &mut [u8]| out.fill(0));
        assert!(check_of(zeros).unwrap().contains("0x00"));
        let fixed: [u8; 4096] = squall::array();
        let same = By(move |out: &mut [u8]| out.copy_from_slice(&fixed[..out.len()]));
        assert!(check_of(same).unwrap().contains("repeated"));
        let ascii = By(|out: &mut [u8]| {
            squall::fill(out);
            out.iter_mut().for_each(|byte| *byte &= 0x7f);
        });
        let complaint = check_of(ascii).unwrap();
        assert!(complaint.starts_with("43.") && complaint.ends_with("are ones"));
    }
}
