//! Figures that Everspaugh et al. published for Whirlwind in the kernel and for the old RNG (IEEE S&P
//! 2014, on the machine of their time). Their reads are system calls with a copy to the caller.

use serde::{Serialize, Serializer};

/// Published figures for one row, with the digits and the unit in which they were published.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Published {
    #[serde(serialize_with = "serialize")]
    pub whirlwind: Option<&'static str>,
    /// The old Linux RNG.
    #[serde(serialize_with = "serialize")]
    pub legacy: Option<&'static str>,
}

/// Nothing was published.
pub const NOT_PUBLISHED: Published = Published {
    whirlwind: None,
    legacy: None,
};

/// An input.
pub const ADD_INPUT: Published = Published {
    whirlwind: Some("about 0.5 µs"),
    legacy: None,
};

/// get_random_int.
pub const GENERATE_4_BYTES: Published = both("10.3 ± 1.8 µs", "1.0 ± 0.5 µs");

/// A bootstrap: the mean of 50.
pub const BOOTSTRAP: Published = Published {
    whirlwind: Some("0.7 ms"),
    legacy: None,
};

/// lat_proc's fork.
pub const FORK: Published = both("418 ± 5 µs", "414 ± 5 µs");

/// Speed of `dd` over 10,000 blocks of `len` bytes, in MB/s.
pub fn speed(len: usize) -> Published {
    match len {
        4 => both("0.6", "1.6"),
        16 => both("2.3", "4.9"),
        64 => both("9.3", "9.0"),
        256 => both("21.8", "12.0"),
        _ => NOT_PUBLISHED,
    }
}

const fn both(whirlwind: &'static str, legacy: &'static str) -> Published {
    Published {
        whirlwind: Some(whirlwind),
        legacy: Some(legacy),
    }
}

/// A figure in the unit of its row: nanoseconds, or MB/s.
#[derive(Debug, PartialEq, Serialize)]
struct Figure<'a> {
    value: f64,
    /// The tolerance, where one was published.
    plus_minus: Option<f64>,
    text: &'a str,
}

impl Figure<'_> {
    fn parse(text: &str) -> Figure<'_> {
        let scale = match text.split(' ').next_back() {
            Some("µs") => 1e3,
            Some("ms") => 1e6,
            _ => 1.0,
        };
        let numbers = text.split(' ').filter_map(|word| word.parse::<f64>().ok());
        let mut numbers = numbers.map(|number| number * scale);
        Figure {
            value: numbers.next().expect("a number"),
            plus_minus: numbers.next(),
            text,
        }
    }
}

fn serialize<S: Serializer>(text: &Option<&str>, serializer: S) -> Result<S::Ok, S::Error> {
    text.map(Figure::parse).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_the_unit_of_their_row() {
        for (text, value, plus_minus) in [
            ("about 0.5 µs", 500.0, None),
            ("10.3 ± 1.8 µs", 10_300.0, Some(1_800.0)),
            ("0.7 ms", 700_000.0, None),
            ("21.8", 21.8, None),
        ] {
            let figure = Figure::parse(text);
            assert_eq!((figure.value, figure.plus_minus), (value, plus_minus));
        }
    }
}
