//! Formats numbers for people: three digits and a suitable unit.

/// A time in nanoseconds.
pub fn time(ns: f64) -> String {
    scaled(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
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

/// A rate in bytes per second.
pub fn rate(bytes: f64) -> String {
    scaled(
        bytes,
        &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
    )
}

/// An amount of bytes, to three digits.
pub fn volume(bytes: u64) -> String {
    match bytes {
        ..1000 => format!("{bytes} B"),
        _ => scaled(
            bytes as f64,
            &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")],
        ),
    }
}

/// The length of a request, exact.
pub fn length(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = UNITS
        .into_iter()
        .find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// A ratio.
pub fn times(ratio: f64) -> String {
    format!("{} ×", number(ratio))
}

/// A number to three digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        99.95.. => format!("{value:.0}"),
        9.995.. => format!("{value:.1}"),
        0.9995.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The value in the largest unit that it reaches, once rounded; `units` are largest first.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    const ROUNDED_UP: f64 = 0.9995;
    let fits = |&&(unit, _): &&(f64, &str)| value.abs() >= unit * ROUNDED_UP;
    let smallest = units[units.len() - 1];
    let (unit, name) = units.iter().find(fits).copied().unwrap_or(smallest);
    format!("{} {name}", number(value / unit))
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
    }

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(time(0.25), "0.250 ns");
        assert_eq!(time(1.884), "1.88 ns");
        assert_eq!(time(99.96), "100 ns");
        assert_eq!(time(999.7), "1.00 µs");
        assert_eq!(time(1_234_567.0), "1.23 ms");
        assert_eq!(time(25.72e9), "25.7 s");
        assert_eq!(rate(13.4e6), "13.4 MB/s");
        assert_eq!(rate(15.24e9), "15.2 GB/s");
        assert_eq!(rate(12.0), "12.0 B/s");
        assert_eq!(times(27.16), "27.2 ×");
        assert_eq!(volume(999), "999 B");
        assert_eq!(volume(1_234_567), "1.23 MB");
        assert_eq!(volume(4_000_787_030_016), "4.00 TB");
    }

    #[test]
    fn lengths_are_exact() {
        let shown = [0, 1, 1000, 1024, 1536, 16 << 10, 16 << 20, 1 << 30].map(length);
        let expected = [
            "0 B", "1 B", "1000 B", "1 KiB", "1536 B", "16 KiB", "16 MiB", "1 GiB",
        ];
        assert_eq!(shown, expected);
    }
}
