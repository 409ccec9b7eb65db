//! Batteries that are programs, and what they print.
//!
//! dieharder prints a line for each result, whose last field is PASSED, WEAK or FAILED. PractRand lists after each
//! length the results that are anomalous, and counts those that are not; its last word is on the longest.

use std::process::Command;

use super::Tally;

/// The tests of `arguments` on raw bytes from the standard input.
pub fn dieharder(arguments: &[&str]) -> Command {
    let mut command = Command::new("dieharder");
    command.args(["-g", "200"]).args(arguments);
    command
}

/// Counts the lines of dieharder, `name | n-tuple | samples | samples | p-value | assessment`.
pub(super) fn tally_dieharder(text: &str) -> Tally {
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

/// The program of PractRand, by the names that it has.
const PRACTRAND: [&str; 2] = ["RNG_test", "practrand-RNG_test"];

/// PractRand on `bytes` bytes of words of 64 bits from the standard input; on 1 MiB at least.
pub(super) fn practrand(bytes: u64) -> Vec<Command> {
    let length = format!("{}MB", (bytes >> 20).max(1));
    let command = |program| {
        let mut command = Command::new(program);
        command.args(["stdin64", "-tlmax", &length]);
        command
    };
    PRACTRAND.into_iter().map(command).collect()
}

/// Counts the results of the last length of PractRand.
pub(super) fn tally_practrand(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [first, ..] if first.starts_with("length=") => tally = Tally::default(),
            ["no", "anomalies", "in", normal, ..] | ["...and", normal, ..] => {
                tally.passed += normal.parse().unwrap_or(0);
            }
            [name, ..] => match evaluation(line) {
                Some(words) if words.contains("FAIL") => tally.failed.push(name.into()),
                Some(_) => tally.suspicious += 1,
                None => {}
            },
            [] => {}
        }
    }
    tally
}

/// The words at the end of a line `name R= -4.1 p =1-1.2e-3 unusual`; none if they are `normal`.
fn evaluation(line: &str) -> Option<&str> {
    let (_, result) = line.split_once(" R=")?;
    let (_, p_value) = result.rsplit_once('=')?;
    let (_, words) = p_value.trim_start().split_once(' ')?;
    Some(words.trim()).filter(|words| !["", "normal"].contains(words))
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
        assert_eq!(tally_dieharder(text), expected);
    }

    const TEXT: &str = "\
    RNG_test using PractRand version 0.93
    RNG = RNG_stdin32, seed = 0x187edf12
    test set = normal, folding = standard (32 bit)

    rng=RNG_stdin32, seed=0x187edf12
    length= 32 megabytes (2^25 bytes), time= 1.4 seconds
      no anomalies in 100 test result(s)

    rng=RNG_stdin32, seed=0x187edf12
    length= 64 megabytes (2^26 bytes), time= 2.9 seconds
      Test Name                         Raw       Processed     Evaluation
      DC6-9x1Bytes-1                    R=  +6.3  p =  2.2e-3   unusual
      Gap-16:A                          R= +33.3  p =  1.6e-28    FAIL !!!
      [Low1/32]BCFN(2+0,13-3,T)         R= -13.6  p =1-7.9e-9   very suspicious
      ...and 105 test result(s) without anomalies
    ";

    #[test]
    fn the_longest_is_counted() {
        let expected = Tally {
            passed: 105,
            suspicious: 2,
            failed: vec!["Gap-16:A".into()],
            is_stopped: false,
        };
        assert_eq!(tally_practrand(TEXT), expected);
        let (shorter, _) = TEXT.split_at(TEXT.find("length= 64").unwrap());
        assert_eq!(tally_practrand(shorter).passed, 100);
    }
}
