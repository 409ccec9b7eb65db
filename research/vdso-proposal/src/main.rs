//! The program of Y. Droneaud's proposal of a vDSO mechanism for reseeding (RFC to linux-kernel, January 2023): so
//! many numbers below 2^32 by the system call, by the vDSO, by a pool over each, and by what programs use today.
//! They take turns, a sixteenth of the numbers a round.

mod pool;

use std::cell::Cell;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::rc::Rc;

use squall_bench::sources::{self, Opened, Request};
use squall_tool_base::Failure;
use squall_tool_base::measure::Spread;
use squall_tool_base::measure::contest::{Batch, Budget, Contestant, Orders, Outcome, in_turns};

const NUMBERS: u64 = 1 << 24;
const ROUNDS: usize = 16;

/// A source, and what the proposal published of it: nanoseconds a number.
struct Row {
    name: &'static str,
    published: Option<f64>,
    source: Opened,
    /// Bytes that a pool fetched and threw away unused.
    discarded: Rc<Cell<u64>>,
}

fn rows() -> [Row; 7] {
    let row = |name, published, open: fn(Rc<Cell<u64>>) -> Opened| {
        let discarded = Rc::default();
        Row {
            name,
            published,
            source: open(Rc::clone(&discarded)),
            discarded,
        }
    };
    [
        row("getrandom", Some(170.8), |_| sources::open("getrandom")),
        row("vdso", Some(171.9), |_| sources::open("vdso")),
        row("pool-syscall", Some(68.7), pool::over_syscall),
        row("pool-vdso", Some(9.68), pool::over_vdso),
        row("squall", None, |_| sources::open("squall")),
        row("thread-rng", None, |_| sources::open("thread-rng")),
        row("arc4random", None, |_| sources::open("arc4random")),
    ]
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let numbers = argument.as_ref().map_or(Ok(NUMBERS), |text| text.parse());
    let Ok(numbers) = numbers else {
        eprintln!(
            "squall-vdso-proposal: {:?} is not a count of numbers: use one such as 1048576",
            argument.unwrap_or_default()
        );
        return ExitCode::from(2);
    };
    print!("{}", measure(numbers));
    ExitCode::SUCCESS
}

/// Draws the numbers, and gives a line for each source.
fn measure(numbers: u64) -> String {
    let mut rows = rows();
    let contestants = rows.iter_mut().map(|row| {
        let source = &mut row.source;
        Contestant::new(row.name, move |calls| match source {
            Ok(source) => source.time(Request::U32, calls).map_err(Failure::into_text),
            Err(reason) => Err(reason.clone()),
        })
    });
    let budget = Budget {
        least: ROUNDS,
        most: ROUNDS,
        time: Default::default(),
        batch: Batch::Calls(numbers.div_ceil(ROUNDS as u64).max(1)),
    };
    let mut contestants: Vec<Contestant> = contestants.collect();
    let outcomes = in_turns(&mut contestants, budget, &mut Orders::default(), &|| true);
    drop(contestants);
    let mut text =
        format!("{numbers} numbers (u32): ns a number, median of {ROUNDS} rounds (quartiles)\n");
    for (row, outcome) in rows.iter().zip(outcomes) {
        let _ = write!(text, "{:<14}", row.name);
        match outcome {
            Outcome::Failed(reason) => text += &reason,
            Outcome::Samples(samples) => {
                let Spread { low, median, high } = Spread::of(samples);
                let _ = write!(text, "{median:8.2} ({low:.2} to {high:.2})");
            }
        }
        if let Some(published) = row.published {
            let _ = write!(text, "; published: {published}");
        }
        if row.name.starts_with("pool-") {
            let _ = write!(text, "; {} bytes thrown away", row.discarded.get());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_a_line() {
        let text = measure(1 << 10);
        for row in rows() {
            let line = text.lines().find(|line| line.starts_with(row.name));
            let line = line.unwrap_or_else(|| panic!("{}: {text}", row.name));
            let shown = match &row.source {
                Ok(_) => " to ",
                Err(reason) => reason,
            };
            assert!(line.contains(shown), "{line}");
        }
    }
}
