//! Numbers and names for people.

/// `done` of `total` in whole percents, rounded down: 100 means that nothing is missing.
pub fn percent(done: u64, total: u64) -> u64 {
    match total {
        0 => 0,
        _ => (u128::from(done.min(total)) * 100 / u128::from(total)) as u64,
    }
}

/// `part` of `whole` in percent, rounded down to one decimal: 100.0 % is all of it, to the byte.
pub fn share(part: u64, whole: u64) -> String {
    let tenths = match whole {
        _ if part >= whole => 1000,
        _ => u128::from(part) * 1000 / u128::from(whole),
    };
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// All digits of a number, in groups of three.
pub fn grouped_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_percent_is_everything() {
        let size = 18_000_207_937_536;
        assert_eq!(percent(size - 1, size), 99);
        assert_eq!(percent(size, size), 100);
        assert_eq!(percent(0, 0), 0);
    }

    #[test]
    fn one_missing_byte_is_less_than_100_percent() {
        let size = 20_000_588_955_648;
        assert_eq!(share(size, size), "100.0 %");
        assert_eq!(share(0, 0), "100.0 %");
        assert_eq!(share(size - 1, size), "99.9 %");
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(share(0, size), "0.0 %");
        assert_eq!(share(u64::MAX - 1, u64::MAX), "99.9 %");
    }

    #[test]
    fn digits_are_grouped() {
        let shown = [0, 999, 1000, 20_000_588_955_648].map(grouped_digits);
        assert_eq!(shown, ["0", "999", "1,000", "20,000,588,955,648"]);
    }
}
