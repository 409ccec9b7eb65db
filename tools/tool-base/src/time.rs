//! Parses times on a command line: a number and a unit, such as 90s, 10min or "1h 30min".

use std::ops::RangeInclusive;
use std::time::Duration;

use humantime::{format_duration, parse_duration};

const SECOND: Duration = Duration::from_secs(1);

/// The longest [interval](interval()).
const MAX_INTERVAL: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Parses a time from a second to a year.
pub fn interval(text: &str) -> Result<Duration, String> {
    in_range(SECOND, SECOND..=MAX_INTERVAL)(text)
}

/// A parser of times in `range`. A number alone counts in `plain`.
///
/// The error message says what would be right.
pub fn in_range(
    plain: Duration,
    range: RangeInclusive<Duration>,
) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let of_number = |number: u32| plain.checked_mul(number);
        let time = match text.parse() {
            Ok(number) => of_number(number),
            // Whoever writes 5M means minutes, and the parser months.
            Err(_) if text.contains('M') => None,
            Err(_) => parse_duration(text).ok(),
        };
        let wrong = match time {
            None => "is not a time".to_owned(),
            Some(time) if range.contains(&time) => return Ok(time),
            Some(time) if time < *range.start() => {
                format!("is less than {}", format_duration(*range.start()))
            }
            Some(_) => format!("is more than {}", format_duration(*range.end())),
        };
        Err(format!(
            "{text:?} {wrong}: use a number and a unit, such as 90s, 10min or \"1h 30min\""
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_the_usual_one() {
        let parse = in_range(SECOND, SECOND..=3600 * SECOND);
        for (text, seconds) in [("30", 30), ("30s", 30), ("10min", 600), ("1h", 3600)] {
            assert_eq!(parse(text), Ok(seconds * SECOND));
        }
        for (text, words) in [
            ("0", "\"0\" is less than 1s: use "),
            ("500ms", "is less than 1s"),
            ("2h", "is more than 1h"),
            ("4294967295", "is more than 1h"),
            ("4294967296", "is not a time"),
            ("", "is not a time"),
            ("30 parsecs", "is not a time"),
            ("-5s", "is not a time"),
            ("5M", "is not a time"),
        ] {
            let message = parse(text).expect_err(text);
            assert!(message.contains(words), "{message}");
        }
    }
}
