//! `squall bench --batteries`: each source's bytes, tested by every battery that is installed.

use std::time::Duration;

use squall_tools::{Failure, Interrupt, output};

use super::ALL;
use crate::args::BenchArguments;
use crate::candidates::Candidates;
use crate::go;
use crate::sources::{Entry, RunsIn, memory};

/// Longest time that a battery may take with one source.
const TIMEOUT: Duration = Duration::from_secs(2 * 3600);

/// Tests the sources that were asked for, and prints each result when it is there.
///
/// # Errors
/// A source failed, is missing although it was named, or a battery rejected it; or no battery is installed.
pub fn run(options: &BenchArguments) -> Result<(), Failure> {
    output::check()?;
    let go = go::program("go".as_ref(), true);
    let interrupt = Interrupt::watch("nothing more is tested")?;
    let is_named = !options.source.is_empty();
    let is_wanted = |entry: &Entry| {
        let is_testable = entry.runs_in != RunsIn::OtherProgram && entry.name != memory::NAME;
        options.asks_for(entry.name) && (is_named || is_testable)
    };
    let mut candidates = Candidates::open(is_wanted, &go);
    let mut missing = Vec::new();
    let mut unsound = Vec::new();
    for candidate in &mut candidates.0 {
        let name = candidate.entry.name;
        let Some(source) = candidate.source() else {
            if is_named {
                unsound.push(format!("{name} is not available: {}", candidate.reason()));
            }
            continue;
        };
        let mut fill = |out: &mut [u8]| {
            interrupt.check()?;
            // A cipher would encrypt what was there.
            out.fill(0);
            source.fill(out)
        };
        for battery in &ALL {
            if missing.contains(&battery.name) {
                continue;
            }
            let result = battery.run(TIMEOUT, options.bytes, &mut fill);
            interrupt.check()?;
            match result {
                Ok(Some(result)) => {
                    output::print(&format!("{name}, {result}\n"))?;
                    if result.has_failed() {
                        unsound.push(format!("{name} failed {}", battery.name));
                    }
                }
                Ok(None) => {
                    output::print(&format!("{}: not installed\n", battery.name))?;
                    missing.push(battery.name);
                }
                Err(failure) => {
                    unsound.push(format!("{name} failed: {}", failure.into_text()));
                    break;
                }
            }
        }
        if missing.len() == ALL.len() {
            return Err(Failure::Runtime(
                "no battery is installed: install dieharder, PractRand or TestU01 (libtestu01-0)"
                    .into(),
            ));
        }
    }
    output::print(
        "Passing says nothing about security: a keystream whose key is known passes too.\n",
    )?;
    if unsound.is_empty() {
        Ok(())
    } else {
        Err(Failure::Runtime(unsound.join("; ")))
    }
}
