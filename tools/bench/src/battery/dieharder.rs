//! dieharder: a line a result, whose last field is PASSED, WEAK or FAILED.

use std::process::Command;

use super::Tally;

/// The tests of `arguments` on raw bytes from the standard input.
pub fn dieharder(arguments: &[&str]) -> Command {
    let mut command = Command::new("dieharder");
    command.args(["-g", "200"]).args(arguments);
    command
}

/// Counts the lines `name | n-tuple | samples | samples | p-value | assessment`.
pub(super) fn tally(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, tuple, _, _, p_value, assessment] = fields[..] else {
            continue;
        };
        match assessment {
            "PASSED" => tally.passed += 1,
            "WEAK" => tally.suspicious += 1,
            "FAILED" => tally.failed.push(format!("{name} {tuple} (p {p_value})")),
            _ => {}
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_their_assessment() {
        let text = "
   rng_name    |rands/second|   Seed   |
        test_name   |ntup| tsamples |psamples|  p-value |Assessment
   diehard_birthdays|   0|       100|     100|0.99993185|   WEAK
      diehard_operm5|   0|   1000000|     100|0.41570922|  PASSED
        rgb_lagged_sum|  31|   1000000|     100|0.00000000|  FAILED
";
        let expected = Tally {
            passed: 1,
            suspicious: 1,
            failed: vec!["rgb_lagged_sum 31 (p 0.00000000)".into()],
            is_stopped: false,
        };
        assert_eq!(tally(text), expected);
    }
}
