//! Parses whole numbers on a command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A parser of whole numbers in `range`; `things` says of what, such as "seconds".
///
/// The error message says what would be right.
pub fn in_range<N: FromStr + PartialOrd + Display + Clone>(
    things: &'static str,
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("{text:?} is not a number of {things}: use one from {least} to {most}")
        })
    }
}
