//! The lab: virtual machines that are booted and cloned, a model of the old Linux RNG, attacks on it,
//! what accumulators cost, and guests in which other programs are tested.
//!
//! Nothing here is a source of randomness, and nothing of it is in the `squall` library.

#![deny(unsafe_code)]

pub mod analysis;
pub mod args;
mod attack;
pub mod clones;
mod cost;
pub mod debian;
mod emulator;
pub mod sources;
pub mod trace;
pub mod vm;
pub mod workshop;

use args::Command;
use squall_bench::View;
use squall_tools::Failure;

/// Does what was asked for.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Attack { attack } => attack::run(attack),
        Command::Cost(options) => cost::run(options),
        Command::Bench(options) => squall_bench::run(options, || Ok(View::default())),
        Command::Deps(options) => debian::run(options),
        Command::Boot(options) => clones::boot(options),
        Command::Reset(options) => clones::reset(options),
    }
}
