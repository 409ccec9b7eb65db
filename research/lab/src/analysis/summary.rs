//! Summarises values by minimum, median and maximum.

use serde::Serialize;

/// The minimum, median and maximum of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary<T> {
    pub min: T,
    /// For an even number of values, the greater of the two in the middle.
    pub median: T,
    pub max: T,
}

impl<T: Copy + PartialOrd> Summary<T> {
    /// Summarises `values`, which must all be comparable. None if there are none.
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
