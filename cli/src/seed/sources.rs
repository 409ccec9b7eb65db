//! `squall seed --test`: reads the sources of seeds many times, and shows whether they passed their health tests
//! (SP 800-90B section 4.4). Changes nothing, and needs no privilege.

use std::fmt::Write;

use squall::entropy::ThisMachine;
use squall::entropy::whirlwind::{Whirlwind, WithSha512};
use squall::{NoiseSource, Status};
use squall_tool_base::{Failure, output};

use super::is_kernel_ready;

/// How many seeds are made. Each takes at least one word of the random instruction.
const SEEDS: usize = 10_000;

/// How many bootstraps of Whirlwind are run. Each takes 100 cycle counts.
const BOOTSTRAPS: usize = 100;

/// Reads and shows the sources; fails if one has failed.
pub fn test() -> Result<(), Failure> {
    if !is_kernel_ready() {
        return Err(Failure::Runtime(
            "seed: the kernel's generator is not ready yet: test again later".to_owned(),
        ));
    }
    read_all()?;
    let status = squall::status();
    output::print(&describe(&status))?;
    match failed(&status) {
        None => Ok(()),
        Some(name) => Err(Failure::Runtime(format!(
            "seed: {name} failed its tests: squall goes on without it"
        ))),
    }
}

/// Makes seeds and bootstraps, which test what they read.
fn read_all() -> Result<(), Failure> {
    for _ in 0..SEEDS {
        squall::try_fill_fresh(&mut [0; 32])
            .map_err(|error| Failure::Runtime(format!("seed: {error}")))?;
    }
    let whirlwind = Whirlwind::<WithSha512, ThisMachine>::default();
    (0..BOOTSTRAPS).for_each(|_| whirlwind.bootstrap());
    Ok(())
}

fn describe(status: &Status) -> String {
    let mut lines = String::new();
    for (source, state) in [
        ("kernel's generator", NoiseSource::Works),
        ("CPU's random instruction", status.cpu_random),
        ("cycle counter", status.cycle_counter),
    ] {
        let state = state.to_string();
        writeln!(lines, "{source:<26}{state}").expect("a string takes all text");
    }
    lines
}

/// The name of a source that has failed.
fn failed(status: &Status) -> Option<&'static str> {
    let sources = [
        ("the CPU's random instruction", status.cpu_random),
        ("the cycle counter", status.cycle_counter),
    ];
    let mut failed = sources
        .into_iter()
        .filter(|(_, state)| *state == NoiseSource::Failed);
    failed.next().map(|(name, _)| name)
}
