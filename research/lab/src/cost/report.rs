//! The whole report, as a program reads it.

use serde::Serialize;

use super::fork::Forks;
use super::machine::MachineDescription;
use super::operations::Operations;
use super::targets::Verdict;
use super::throughput::Speed;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub struct CostReport {
    pub machine: MachineDescription,
    /// Whether only a few rounds were measured.
    pub quick: bool,
    pub operations: Operations,
    pub throughput: Vec<Speed>,
    pub fork: Forks,
    pub targets: Vec<Verdict>,
}
