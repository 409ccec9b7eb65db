//! The lab: virtual machines that are booted and cloned, a model of the old Linux RNG, attacks on it,
//! and what accumulators cost.
//!
//! Nothing here is a source of randomness, and nothing of it is in the `squall` library.

#![deny(unsafe_code)]

pub mod analysis;
pub mod args;
mod attack;
pub mod clones;
mod cost;
pub mod debian;
pub mod trace;
pub mod vm;

use args::Command;
use squall_command::Failure;

/// Does what was asked for.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Attack { attack } => attack::run(attack),
        Command::Cost(options) => cost::run(options),
        Command::Deps(options) => debian::run(options),
        Command::Boot(options) => clones::boot(options),
        Command::Reset(options) => clones::reset(options),
    }
}
