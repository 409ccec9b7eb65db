//! Experiments with machines that are booted, or resumed from one snapshot, many times.

mod args;
mod campaign;
mod experiment;
mod machine;
mod output;
mod scenario;

pub use args::{BootArguments, ResetArguments};
pub use campaign::{boot, reset};
pub use machine::Machine;
pub use scenario::Scenario;
