//! The complete report, as it is written to JSON.

use serde::Serialize;

use super::fork::Forks;
use super::machine::MachineDescription;
use super::operations::Operations;
use super::targets::Verdict;
use super::throughput::Speed;

#[derive(Debug, Serialize)]
pub struct CostReport {
    pub machine: MachineDescription,
    /// Whether this is a quick run, with only a few rounds.
    pub quick: bool,
    pub operations: Operations,
    pub throughput: Vec<Speed>,
    pub fork: Forks,
    pub targets: Vec<Verdict>,
}
