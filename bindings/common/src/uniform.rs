//! Numbers below a bound, without bias.
//!
//! Source: D. Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019),
//! algorithm 5: takes the upper half of a product, and draws again if the lower half shows that
//! some results would come more often than others.

/// A number below `bound`, made from the 64-bit numbers of `draw`; 0 without a draw if `bound` is 0
/// or 1.
///
/// # Errors
/// The errors of `draw`.
pub fn below_u64<E>(bound: u64, mut draw: impl FnMut() -> Result<u64, E>) -> Result<u64, E> {
    if bound <= 1 {
        return Ok(0);
    }
    let mut product = u128::from(draw()?) * u128::from(bound);
    if (product as u64) < bound {
        // The number of values of the lower half to reject: 2^64 modulo the bound.
        let surplus = bound.wrapping_neg() % bound;
        while (product as u64) < surplus {
            product = u128::from(draw()?) * u128::from(bound);
        }
    }
    Ok((product >> 64) as u64)
}

/// Like [`below_u64`], for 32 bits.
///
/// # Errors
/// The errors of `draw`.
pub fn below_u32<E>(bound: u32, mut draw: impl FnMut() -> Result<u32, E>) -> Result<u32, E> {
    if bound <= 1 {
        return Ok(0);
    }
    let mut product = u64::from(draw()?) * u64::from(bound);
    if (product as u32) < bound {
        let surplus = bound.wrapping_neg() % bound;
        while (product as u32) < surplus {
            product = u64::from(draw()?) * u64::from(bound);
        }
    }
    Ok((product >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use super::*;

    fn draw_from<T: Copy>(words: &[T]) -> impl FnMut() -> Result<T, Infallible> {
        let mut words = words.iter();
        move || Ok(*words.next().expect("no more than these are drawn"))
    }

    #[test]
    fn nothing_is_drawn_for_one_result() {
        for bound in [0, 1] {
            assert_eq!(below_u64(bound, draw_from(&[])), Ok(0));
            assert_eq!(below_u32(bound as u32, draw_from(&[])), Ok(0));
        }
    }

    /// Over all 2^32 words, each result comes equally often, not counting rejected words.
    #[test]
    fn every_result_comes_equally_often() {
        for bound in [3, 6, 641, (1 << 31) + 1, u32::MAX] {
            let words_per_result = (1u64 << 32) / u64::from(bound);
            for result in [0, 1, bound / 2, bound - 1] {
                let first = (u64::from(result) << 32).div_ceil(u64::from(bound));
                let last = (((u64::from(result) + 1) << 32) - 1) / u64::from(bound);
                let around = first.saturating_sub(2)..=(last + 2).min(u32::MAX.into());
                let accepted = |word: &u64| {
                    let mut drawn = 0;
                    let taken = below_u32::<()>(bound, || {
                        drawn += 1;
                        (drawn == 1).then_some(*word as u32).ok_or(())
                    });
                    taken == Ok(result)
                };
                let edges = around.clone().take(8).chain(around.clone().rev().take(8));
                let mut edges: Vec<_> = edges.collect();
                edges.sort_unstable();
                edges.dedup();
                let within = edges.iter().filter(|word| (first..=last).contains(*word));
                let rejected = within.filter(|word| !accepted(word)).count() as u64;
                assert_eq!(
                    last - first + 1 - rejected,
                    words_per_result,
                    "{result} of {bound}"
                );
            }
        }
    }

    #[test]
    fn rejected_words_are_drawn_again() {
        // 2^32 mod 3 is 1: only the lower half 0 is rejected, which is that of the word 0.
        assert_eq!(below_u32(3, draw_from(&[0, u32::MAX])), Ok(2));
        assert_eq!(below_u64(3, draw_from(&[0, u64::MAX])), Ok(2));
        assert_eq!(below_u64(1 << 63, draw_from(&[1])), Ok(0));
    }
}
