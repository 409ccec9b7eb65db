//! What the figures were measured on.

use serde::Serialize;
use squall_measure::machine::{cpu, kernel};

/// The machine and the build.
#[derive(Debug, Serialize)]
pub struct MachineDescription {
    pub cpu: String,
    pub kernel: String,
    /// Whether this is a release build: figures of another say nothing.
    pub release_build: bool,
}

/// Describes this machine.
pub fn describe() -> MachineDescription {
    MachineDescription {
        cpu: cpu(),
        kernel: kernel(),
        release_build: !cfg!(debug_assertions),
    }
}
