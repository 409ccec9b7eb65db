//! What Everspaugh et al. published of Whirlwind in the kernel and of the old RNG (IEEE S&P 2014,
//! on the machine of their time). Their reads are system calls, with a copy to the caller.

use serde::Serialize;

/// Published figures, in the unit of the row.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Published {
    pub whirlwind: Option<f64>,
    /// The old Linux RNG.
    pub legacy: Option<f64>,
}

/// Nothing was published.
pub const NOTHING: Published = Published {
    whirlwind: None,
    legacy: None,
};

/// An input, in nanoseconds: about half a microsecond.
pub const ADD_INPUT: Published = Published {
    whirlwind: Some(500.0),
    legacy: None,
};

/// get_random_int, in nanoseconds: 10.3 ± 1.8 µs, and 1.0 ± 0.5 µs.
pub const GENERATE_4_BYTES: Published = both(10_300.0, 1_000.0);

/// A bootstrap, in nanoseconds: the mean of 50.
pub const BOOTSTRAP: Published = Published {
    whirlwind: Some(700_000.0),
    legacy: None,
};

/// lat_proc's fork, in nanoseconds: 418 ± 5 µs, and 414 ± 5 µs.
pub const FORK: Published = both(418_000.0, 414_000.0);

/// Speed of `dd` over 10,000 blocks of `len` bytes, in MB/s.
pub fn speed(len: usize) -> Published {
    match len {
        4 => both(0.6, 1.6),
        16 => both(2.3, 4.9),
        64 => both(9.3, 9.0),
        256 => both(21.8, 12.0),
        _ => NOTHING,
    }
}

const fn both(whirlwind: f64, legacy: f64) -> Published {
    Published {
        whirlwind: Some(whirlwind),
        legacy: Some(legacy),
    }
}
