//! The lab: a model of the old Linux RNG, attacks on it, and what accumulators cost.
//!
//! Nothing here is a source of randomness, and nothing of it is in the `squall` library.

#![deny(unsafe_code)]

pub mod args;
mod attack;
mod cost;
mod legacy;

use args::Command;
use squall_command::Failure;

/// Does what was asked for.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Attack { attack } => attack::run(attack),
        Command::Cost(options) => cost::run(options),
    }
}
