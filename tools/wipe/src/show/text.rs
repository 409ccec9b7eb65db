//! Numbers and names for people.

use std::path::Path;

use super::meter::Left;
use squall_drives::Hidden;
use squall_tools::text::in_a_line;
use squall_tools::units;

/// Shown in place of a value that is missing.
pub const NONE: &str = "–";

/// A value in a table, which may be unknown.
pub fn or_none(value: &Option<String>) -> String {
    value.as_deref().map_or(NONE.into(), in_a_line)
}

/// What a drive stores on, if it is known whether it `is_flash`.
pub fn medium(is_flash: Option<bool>) -> &'static str {
    match is_flash {
        Some(true) => "flash",
        Some(false) => "magnetic",
        None => NONE,
    }
}

/// How much a drive hides, and behind what; `None` if that is nothing.
pub fn hidden(hidden: Hidden) -> Option<String> {
    let bytes = hidden.bytes();
    (bytes > 0).then(|| format!("{} ({})", units::volume(bytes), hidden.areas()))
}

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

/// Whether a terminal of this width, if it has one, has room only for the most important columns of a list.
pub fn is_narrow(width: Option<usize>) -> bool {
    width.is_some_and(|columns| columns < 80)
}

/// A path in one line, with control characters escaped.
pub fn path(path: &Path) -> String {
    in_a_line(&path.to_string_lossy())
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

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(in_a_line("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
    }
}
