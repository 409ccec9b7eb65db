//! Numbers and names for people.

use super::meter::Left;

/// A time in its two largest units.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes) = (whole / 3600, whole / 60 % 60);
    match whole {
        ..60 => format!("{whole} s"),
        60..3600 => format!("{minutes} min {} s", whole % 60),
        3600..360_000 => format!("{hours} h {minutes} min"),
        _ => format!("{hours} h"),
    }
}

/// An estimated time, without seconds from a minute on.
pub fn left(left: Left) -> Option<String> {
    match left {
        Left::Stalled => Some("stalled".into()),
        Left::Unknown => None,
        Left::Seconds(seconds @ 60.0..3600.0) => {
            Some(format!("{} min left", (seconds / 60.0).round()))
        }
        Left::Seconds(seconds) => Some(duration(seconds) + " left"),
    }
}

/// `done` of `total` in whole percents, rounded down: 100 means that nothing is missing.
pub fn percent(done: u64, total: u64) -> u64 {
    match total {
        0 => 0,
        _ => (u128::from(done.min(total)) * 100 / u128::from(total)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        let shown = [0.4, 59.4, 61.0, 3599.0, 3600.0, 11_520.0, 720_000.0].map(duration);
        let expected = [
            "0 s",
            "59 s",
            "1 min 1 s",
            "59 min 59 s",
            "1 h 0 min",
            "3 h 12 min",
            "200 h",
        ];
        assert_eq!(shown, expected);
        assert_eq!(left(Left::Seconds(61.0)), Some("1 min left".into()));
    }

    #[test]
    fn a_hundred_percent_is_everything() {
        let size = 18_000_207_937_536;
        assert_eq!(percent(size - 1, size), 99);
        assert_eq!(percent(size, size), 100);
        assert_eq!(percent(0, 0), 0);
    }
}
