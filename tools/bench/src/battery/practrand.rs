//! PractRand: after each length it lists results that are anomalous, and counts those that are
//! not. Its last word is on the longest.

use std::process::Command;

use super::Tally;

/// Its program, by the names that it has.
const PROGRAMS: [&str; 2] = ["RNG_test", "practrand-RNG_test"];

/// It on `bytes` bytes of words of 64 bits from the standard input; on 1 MiB at least.
pub(super) fn programs(bytes: u64) -> Vec<Command> {
    let length = format!("{}MB", (bytes >> 20).max(1));
    let command = |program| {
        let mut command = Command::new(program);
        command.args(["stdin64", "-tlmax", &length]);
        command
    };
    PROGRAMS.into_iter().map(command).collect()
}

/// Counts the results of the last length.
pub(super) fn tally(text: &str) -> Tally {
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
        assert_eq!(tally(TEXT), expected);
        let (shorter, _) = TEXT.split_at(TEXT.find("length= 64").unwrap());
        assert_eq!(tally(shorter).passed, 100);
    }
}
