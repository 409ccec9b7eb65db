//! The lab: boots and clones virtual machines, copies processes, models and attacks the old Linux RNG, measures the cost
//! of accumulators, and tests other programs in guests.
//!
//! Nothing here is a source of randomness, or part of the `squall` library.

#![deny(unsafe_code)]

pub mod analysis;
pub mod args;
pub mod arm64;
mod attack;
pub mod clones;
mod cost;
#[cfg(target_arch = "x86_64")]
pub mod kvm;
mod processes;
pub mod sources;
pub mod vm;

use args::Command;
use squall_bench::View;
use squall_tool_base::Failure;

/// Runs a command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Attack { attack } => attack::run(attack),
        Command::Cost(options) => cost::run(options),
        Command::Bench(options) => squall_bench::run(options, || Ok(View::default())),
        Command::Boot(options) => clones::boot(options),
        Command::Reset(options) => clones::reset(options),
        #[cfg(target_arch = "x86_64")]
        Command::Kvm(options) => kvm::run(options),
        Command::Processes(options) => processes::run(options),
    }
}
