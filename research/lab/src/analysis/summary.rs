//! A few numbers in three.

use serde::Serialize;

/// The least, the middle and the greatest of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary<T> {
    /// The least.
    pub min: T,
    /// The middle one; the greater of two.
    pub median: T,
    /// The greatest.
    pub max: T,
}

impl<T: Copy + PartialOrd> Summary<T> {
    /// Of `values`, which are all comparable; none if there are none.
    pub(super) fn of(mut values: Vec<T>) -> Option<Summary<T>> {
        values.sort_by(|one, other| one.partial_cmp(other).expect("values are comparable"));
        Some(Summary {
            min: *values.first()?,
            median: values[values.len() / 2],
            max: *values.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_none_one_and_four() {
        assert_eq!(Summary::<u64>::of(Vec::new()), None);
        let of = |values| Summary::of(values).map(|s| [s.min, s.median, s.max]);
        assert_eq!(of(vec![5]), Some([5; 3]));
        assert_eq!(of(vec![4, 1, 3, 2]), Some([1, 3, 4]));
    }
}
