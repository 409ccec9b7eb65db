//! Figures that Everspaugh et al. published for Whirlwind in the kernel and for the old RNG (IEEE S&P
//! 2014, on the machine of their time). Their reads are system calls with a copy to the caller.

use serde::Serialize;

/// A published figure, in the unit of the row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedFigure {
    pub value: f64,
    /// The tolerance, where one was published.
    pub plus_minus: Option<f64>,
    /// The figure with the digits and the unit in which it was published.
    pub text: &'static str,
}

/// Published figures for one row.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Published {
    pub whirlwind: Option<PublishedFigure>,
    /// The old Linux RNG.
    pub legacy: Option<PublishedFigure>,
}

/// Nothing was published.
pub const NOT_PUBLISHED: Published = Published {
    whirlwind: None,
    legacy: None,
};

/// An input, in nanoseconds.
pub const ADD_INPUT: Published = Published {
    whirlwind: Some(figure(500.0, None, "about 0.5 µs")),
    legacy: None,
};

/// get_random_int, in nanoseconds.
pub const GENERATE_4_BYTES: Published = both(
    figure(10_300.0, Some(1_800.0), "10.3 ± 1.8 µs"),
    figure(1_000.0, Some(500.0), "1.0 ± 0.5 µs"),
);

/// A bootstrap, in nanoseconds: the mean of 50.
pub const BOOTSTRAP: Published = Published {
    whirlwind: Some(figure(700_000.0, None, "0.7 ms")),
    legacy: None,
};

/// lat_proc's fork, in nanoseconds.
pub const FORK: Published = both(
    figure(418_000.0, Some(5_000.0), "418 ± 5 µs"),
    figure(414_000.0, Some(5_000.0), "414 ± 5 µs"),
);

/// Speed of `dd` over 10,000 blocks of `len` bytes, in MB/s.
pub fn speed(len: usize) -> Published {
    let speeds = |(whirlwind, whirlwind_text), (legacy, legacy_text)| {
        both(
            figure(whirlwind, None, whirlwind_text),
            figure(legacy, None, legacy_text),
        )
    };
    match len {
        4 => speeds((0.6, "0.6"), (1.6, "1.6")),
        16 => speeds((2.3, "2.3"), (4.9, "4.9")),
        64 => speeds((9.3, "9.3"), (9.0, "9.0")),
        256 => speeds((21.8, "21.8"), (12.0, "12.0")),
        _ => NOT_PUBLISHED,
    }
}

const fn figure(value: f64, plus_minus: Option<f64>, text: &'static str) -> PublishedFigure {
    PublishedFigure {
        value,
        plus_minus,
        text,
    }
}

const fn both(whirlwind: PublishedFigure, legacy: PublishedFigure) -> Published {
    Published {
        whirlwind: Some(whirlwind),
        legacy: Some(legacy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units and their length in nanoseconds.
    const UNITS: [(&str, f64); 3] = [("", 1.0), (" µs", 1e3), (" ms", 1e6)];

    /// Checks that the digits of the text agree with the value and its tolerance.
    #[track_caller]
    fn agrees(figure: PublishedFigure) {
        let of_unit = |(unit, scale): (&str, f64)| {
            let digits = figure.text.strip_suffix(unit)?;
            let digits = digits.trim_start_matches("about ");
            let numbers: Vec<f64> = digits
                .split(" ± ")
                .map(|number| number.parse())
                .collect::<Result<_, _>>()
                .ok()?;
            Some(numbers.into_iter().map(|number| number * scale).collect())
        };
        let numbers: Vec<f64> = UNITS.into_iter().find_map(of_unit).expect("a known unit");
        let expected = [Some(figure.value), figure.plus_minus];
        let expected: Vec<f64> = expected.into_iter().flatten().collect();
        assert_eq!(numbers, expected, "{}", figure.text);
    }

    /// The paper's figures restated: Whirlwind's, and the old RNG's.
    #[test]
    fn figures_match_the_paper() {
        for (published, texts) in [
            (ADD_INPUT, ["about 0.5 µs", ""]),
            (GENERATE_4_BYTES, ["10.3 ± 1.8 µs", "1.0 ± 0.5 µs"]),
            (BOOTSTRAP, ["0.7 ms", ""]),
            (FORK, ["418 ± 5 µs", "414 ± 5 µs"]),
            (speed(4), ["0.6", "1.6"]),
            (speed(16), ["2.3", "4.9"]),
            (speed(64), ["9.3", "9.0"]),
            (speed(256), ["21.8", "12.0"]),
            (speed(1024), ["", ""]),
            (NOT_PUBLISHED, ["", ""]),
        ] {
            let figures = [published.whirlwind, published.legacy];
            assert_eq!(figures.map(|f| f.map_or("", |f| f.text)), texts);
            figures.into_iter().flatten().for_each(agrees);
        }
    }
}
