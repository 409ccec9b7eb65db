//! Numbers within bounds and shuffles, without bias.
//!
//! Source: D. Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019),
//! algorithm 5: takes the upper half of a product, and draws again if the lower half shows that
//! some results would come more often than others.

use core::convert::Infallible;
use core::ops::{Bound, RangeBounds};

use crate::thread_generator::{RequestKind, word};

/// A random number from 0 to `bound - 1`, each equally likely.
///
/// # Panics
/// If `bound` is 0: no number is below it.
///
/// # Security
/// Same as [`fill`](crate::fill). The time it takes may reveal that a word was rejected and drawn again,
/// with a probability below `bound` / 2^64, which says nothing of the result. For bounds below 2^32 it
/// also depends on the result itself, by one division, with a probability below 2^-32.
///
/// # Forks and clones
/// Same as [`fill`](crate::fill).
///
/// # Source
/// D. Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019), algorithm 5.
///
/// ```
/// let winner = squall::below(1000);
/// # assert!(winner < 1000);
/// ```
#[inline]
pub fn below(bound: u64) -> u64 {
    assert!(bound > 0, "no number is below 0");
    let Ok(number) = below_u64(bound, || Ok::<_, Infallible>(word(RequestKind::Unique)));
    number
}

/// A random integer within `range`, each equally likely. Same as [`below`] in everything else.
///
/// # Panics
/// If the range is empty.
///
/// ```
/// let die = squall::range(1..=6);
/// let offset = squall::range(-8_i16..8);
/// let byte: u8 = squall::range(..);
/// # assert!((1..=6).contains(&die) && (-8..8).contains(&offset));
/// # let _ = byte;
/// ```
#[inline]
pub fn range<T: Integer>(range: impl RangeBounds<T>) -> T {
    let first = match range.start_bound() {
        Bound::Included(first) => Some(first.position()),
        Bound::Excluded(before) => before.position().checked_add(1),
        Bound::Unbounded => Some(T::MIN.position()),
    };
    let last = match range.end_bound() {
        Bound::Included(last) => Some(last.position()),
        Bound::Excluded(after) => after.position().checked_sub(1),
        Bound::Unbounded => Some(T::MAX.position()),
    };
    let (Some(first), Some(last)) = (first, last) else {
        panic!("the range is empty");
    };
    assert!(first <= last, "the range is empty");
    let distance = match (last - first).checked_add(1) {
        Some(count) => below(count),
        None => word(RequestKind::Unique),
    };
    T::at(first + distance)
}

/// Puts `items` into a random order, each equally likely. Same as [`below`] in everything else.
///
/// # Security
/// The order of memory accesses depends on the result, so that it may be seen by others who share the
/// CPU's caches.
///
/// # Source
/// Fisher and Yates's method as in D. E. Knuth, The Art of Computer Programming, section 3.4.2,
/// algorithm P.
///
/// ```
/// let mut cards: Vec<u8> = (0..52).collect();
/// squall::shuffle(&mut cards);
/// ```
pub fn shuffle<T>(items: &mut [T]) {
    for unplaced in (2..=items.len()).rev() {
        items.swap(unplaced - 1, below(unplaced as u64) as usize);
    }
}

/// The integer types of [`range`]: all of at most 64 bits.
pub trait Integer: sealed::Integer {}

mod sealed {
    pub trait Integer: Copy {
        const MIN: Self;
        const MAX: Self;

        /// The number's place in the order of all 64-bit numbers that are signed as this type.
        fn position(self) -> u64;

        /// The number at a place.
        fn at(position: u64) -> Self;
    }
}

/// Implements the trait for unsigned types with an offset of 0, and for signed types with one of 2^63.
macro_rules! integers {
    ($offset:expr, $wide:ty: $($integer:ty)*) => {$(
        impl Integer for $integer {}

        impl sealed::Integer for $integer {
            const MIN: $integer = <$integer>::MIN;
            const MAX: $integer = <$integer>::MAX;

            #[inline]
            fn position(self) -> u64 {
                (self as $wide as u64).wrapping_add($offset)
            }

            #[inline]
            fn at(position: u64) -> $integer {
                position.wrapping_sub($offset) as $integer
            }
        }
    )*};
}

integers!(0, u64: u8 u16 u32 u64 usize);
integers!(1 << 63, i64: i8 i16 i32 i64 isize);

/// A number below `bound`, made from the 64-bit numbers of `draw`; 0 without a draw if `bound` is 0
/// or 1. Its time hardly depends on the result (see [`below`]).
///
/// # Errors
/// The errors of `draw`.
pub fn below_u64<E>(bound: u64, mut draw: impl FnMut() -> Result<u64, E>) -> Result<u64, E> {
    if bound <= 1 {
        return Ok(0);
    }
    let mut product = u128::from(draw()?) * u128::from(bound);
    if is_surplus_wanted(bound, product as u64) {
        // The number of values of the lower half to reject: 2^64 modulo the bound.
        let surplus = bound.wrapping_neg() % bound;
        while (product as u64) < surplus {
            product = u128::from(draw()?) * u128::from(bound);
        }
    }
    Ok((product >> 64) as u64)
}

/// Whether [`below_u64`] divides, to see how many values of the lower half it must reject. The algorithm
/// needs that only if `lower` is below the bound, which then depends on the result: from 2^32 on it would
/// come often enough to tell something about results, so that all of these bounds divide.
#[inline]
fn is_surplus_wanted(bound: u64, lower: u64) -> bool {
    bound >> 32 != 0 || lower < bound
}

/// Like [`below_u64`], for 32 bits. Not for secrets: its time depends on the result, with a probability
/// of `bound` / 2^32.
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

    /// The same over all 2^64 words, of which only the first that gives a result may be rejected.
    #[test]
    fn every_result_of_64_bits_comes_equally_often() {
        for bound in [3, 641, (1 << 32) + 1, (1 << 63) + 1, 3 << 62, u64::MAX] {
            let wide = u128::from(bound);
            for result in [0, 1, bound / 2, bound - 1] {
                let [first, end] =
                    [result, result + 1].map(|result| (u128::from(result) << 64).div_ceil(wide));
                let gives = |word: u128| {
                    let mut word = u64::try_from(word).ok();
                    below_u64(bound, || word.take().ok_or(())) == Ok(result)
                };
                let rejected = u128::from(!gives(first));
                assert_eq!(
                    end - first - rejected,
                    (1 << 64) / wide,
                    "{result} of {bound}"
                );
                assert!(
                    (first + 1..end).take(9).all(gives) && (end - 1 == first || gives(end - 1))
                );
                assert!(first == 0 || !gives(first - 1));
                assert!(!gives(end));
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

    /// A division takes time. If it depended on the result of a long bound, that time would tell something
    /// about it.
    #[test]
    fn whether_it_divides_does_not_depend_on_the_results_of_long_bounds() {
        for bound in [1 << 32, (1 << 63) + 1, u64::MAX] {
            let wanted =
                [0, bound - 1, bound, u64::MAX].map(|lower| is_surplus_wanted(bound, lower));
            assert_eq!(wanted, [true; 4], "{bound}");
        }
        assert!(is_surplus_wanted(6, 5) && !is_surplus_wanted(6, 6));
    }

    #[test]
    fn every_integer_of_a_range_comes() {
        let seen = |draw: &dyn Fn() -> i64| -> std::collections::BTreeSet<i64> {
            (0..1000).map(|_| draw()).collect()
        };
        assert!(seen(&|| range(1..=6)).into_iter().eq(1..=6));
        assert!(seen(&|| range(-3..3)).into_iter().eq(-3..3));
        assert!(
            seen(&|| range(i64::MAX - 1..))
                .into_iter()
                .eq([i64::MAX - 1, i64::MAX])
        );
        assert!(seen(&|| range(..=i64::MIN)).into_iter().eq([i64::MIN]));
        assert!(
            seen(&|| range(253..=u8::MAX).into())
                .into_iter()
                .eq(253..=255)
        );
        assert!(
            seen(&|| range(i8::MIN..-126).into())
                .into_iter()
                .eq([-128, -127])
        );
        let after = (Bound::Excluded(5), Bound::Excluded(8));
        assert!(seen(&|| range(after)).into_iter().eq([6, 7]));
    }

    #[test]
    fn a_whole_range_has_both_ends() {
        let has = |is_wanted: &dyn Fn(u64) -> bool| (0..1000).any(|_| is_wanted(range(..)));
        assert!(has(&|number| number < 1 << 60) && has(&|number| number >= 15 << 60));
        let has = |is_wanted: &dyn Fn(i32) -> bool| (0..1000).any(|_| is_wanted(range(..)));
        assert!(has(&|number| number < 0) && has(&|number| number >= 0));
    }

    #[test]
    fn empty_ranges_are_refused() {
        #[expect(clippy::reversed_empty_ranges, reason = "they are what is tested")]
        let backwards = 2..=1;
        let after_the_last = (Bound::Excluded(u64::MAX), Bound::Unbounded);
        let draws: [&(dyn Fn() -> u64 + std::panic::RefUnwindSafe); 5] = [
            &|| below(0),
            &|| range(3..3),
            &move || range(backwards.clone()),
            &|| range(..0),
            &move || range(after_the_last),
        ];
        for draw in draws {
            assert!(std::panic::catch_unwind(draw).is_err());
        }
    }

    #[test]
    fn a_shuffle_keeps_all_items_and_reaches_all_orders() {
        let orders: std::collections::BTreeSet<[u8; 4]> = (0..2000)
            .map(|_| {
                let mut items = [1, 2, 3, 4];
                shuffle(&mut items);
                items
            })
            .collect();
        assert_eq!(orders.len(), 24);
        for mut order in orders {
            order.sort();
            assert_eq!(order, [1, 2, 3, 4]);
        }
        shuffle::<u8>(&mut []);
        shuffle(&mut ["alone"]);
    }
}
