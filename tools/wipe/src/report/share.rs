//! Formats shares of a drive, which are never rounded in its favour.

/// `part` of `whole` in percent, rounded down to three decimals: 100 % is all of it, to the byte.
pub fn percent(part: u64, whole: u64) -> String {
    match whole {
        _ if part >= whole => "100 %".into(),
        _ => {
            let thousandths = u128::from(part) * 100_000 / u128::from(whole);
            format!("{}.{:03} %", thousandths / 1000, thousandths % 1000)
        }
    }
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
    fn one_missing_byte_is_less_than_100_percent() {
        let size = 20_000_588_955_648;
        assert_eq!(percent(size, size), "100 %");
        assert_eq!(percent(size - 1, size), "99.999 %");
        assert_eq!(percent(1, 3), "33.333 %");
        assert_eq!(percent(0, size), "0.000 %");
        assert_eq!(percent(u64::MAX - 1, u64::MAX), "99.999 %");
    }

    #[test]
    fn digits_are_grouped() {
        let shown = [0, 999, 1000, 20_000_588_955_648].map(grouped_digits);
        assert_eq!(shown, ["0", "999", "1,000", "20,000,588,955,648"]);
    }
}
