//! Parses sizes on a command line, with the units of head(1) and dd(1).

use std::num::NonZeroU64;

use parse_size::{ByteSuffix, Config};

/// Parses a number of bytes below 16 EiB: digits, perhaps with a decimal point, and a unit.
///
/// The error message says what would be right.
pub fn parse(text: &str) -> Result<u64, String> {
    let unit_start = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_start);
    if let Some(prefix) = unit.strip_suffix('b').and_then(|rest| rest.chars().next()) {
        let prefix = prefix.to_ascii_uppercase();
        return Err(format!(
            "{text:?} is ambiguous: use {number}{prefix}B or {number}{prefix}iB"
        ));
    }
    let scaled = multiple_of(unit).and_then(|multiple| scale(number, multiple));
    let Some((size, is_whole)) = scaled else {
        let limit = match number.starts_with('-') {
            true => ": sizes are positive",
            false => " below 16 EiB",
        };
        return Err(format!(
            "{text:?} is not a size{limit}: use a number and a unit, such as 10, 4KiB, 1.5MiB or 4GB"
        ));
    };
    if is_whole {
        Ok(size)
    } else {
        Err(format!(
            "{text:?} is not a whole number of bytes: use one, such as {}",
            size.max(1)
        ))
    }
}

/// Parses a rate in bytes per second, as [`parse`] does; 0 is refused.
pub fn parse_rate(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(parse(text)?)
        .ok_or_else(|| "0 bytes per second would never end: use more, such as 100MB".into())
}

/// The bytes in a unit of head(1) and dd(1): K is 1024, KB is 1000, KiB is 1024.
fn multiple_of(unit: &str) -> Option<u64> {
    let is_known = unit.chars().all(|c| c.is_ascii_alphabetic());
    let config = match unit.len() {
        1 => Config::new().with_binary(),
        _ => Config::new().with_decimal(),
    };
    config
        .with_byte_suffix(ByteSuffix::Allow)
        .parse_size(format!("1{unit}"))
        .ok()
        .filter(|_| is_known)
}

/// `number` (digits, perhaps with a decimal point) times `multiple` in whole bytes, and whether the
/// result is exact.
fn scale(number: &str, multiple: u64) -> Option<(u64, bool)> {
    /// The most decimal places that are read; more would be a fraction of a byte.
    const MAX_PLACES: usize = 19;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = match fraction.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let kept = &fraction[..fraction.len().min(MAX_PLACES)];
    let places: u128 = 10_u128.pow(kept.len() as u32);
    let part = kept.parse::<u128>().ok()? * u128::from(multiple);
    let is_whole = kept.len() == fraction.len() && part.is_multiple_of(places);
    let size = whole.parse::<u64>().ok()?.checked_mul(multiple)?;
    let size = size.checked_add((part / places) as u64)?;
    Some((size, is_whole))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units_of_sizes() {
        #[rustfmt::skip]
        let sizes = [
            ("0", 0), ("10", 10), ("10B", 10), ("1K", 1024), ("1k", 1024), ("1KB", 1000),
            ("4KiB", 4096), ("1.5MiB", 3 << 19), ("4G", 4 << 30), ("4GB", 4_000_000_000),
            ("4GiB", 4 << 30), ("1TiB", 1 << 40), ("2P", 2 << 50), ("1E", 1 << 60),
            ("1e", 1 << 60), ("1EB", 1_000_000_000_000_000_000), ("15.5EiB", 31 << 59),
            ("1.50K", 1536), ("0.001KB", 1), ("2.0", 2), ("18446744073709551615", u64::MAX),
        ];
        for (text, size) in sizes {
            assert_eq!(parse(text), Ok(size), "{text}");
        }
    }

    #[test]
    fn what_is_no_size() {
        #[rustfmt::skip]
        let texts = [
            "", "x", "-1", "+1", "4Gb/s", "16EiB", "16E", "1.2.3", "KiB", "1 000", "1_000",
            "1e3", "1E3", "1.", ".5K", "1,5K", " 1", "1K ", "1KK", "0x10",
            "18446744073709551616",
        ];
        for text in texts {
            let message = parse(text).expect_err(text);
            assert!(message.contains("is not a size"), "{message}");
        }
        for (text, right) in [
            ("1Gb", "1GB or 1GiB"),
            ("4gb", "4GB or 4GiB"),
            ("1.5Mib", "1.5MB or 1.5MiB"),
        ] {
            let message = parse(text).expect_err(text);
            assert!(message.ends_with(right), "{message}");
        }
        for text in ["1.5", "0.1B", "1.1K", "1.0001KB", "1.00000000000000000001E"] {
            let message = parse(text).expect_err(text);
            assert!(message.contains("whole number of bytes"), "{message}");
            assert!(!message.ends_with(" 0"), "{message}");
        }
    }
}
