//! What the figures were measured on.

use serde::Serialize;
use squall_tools::measure::machine::{cpu, kernel};

use super::hardware;

/// The machine and the build.
#[derive(Debug, Serialize)]
pub struct MachineDescription {
    pub cpu: String,
    pub kernel: String,
    /// Whether this is a release build: figures of another say nothing.
    pub release_build: bool,
    /// Whether there is a random instruction, for the old RNG too.
    pub random_instruction: bool,
    /// Whether there are instructions for SHA-1, which the model of the old RNG uses then.
    pub sha_instructions: bool,
}

/// Describes this machine.
pub fn describe() -> MachineDescription {
    MachineDescription {
        cpu: cpu(),
        kernel: kernel(),
        release_build: !cfg!(debug_assertions),
        random_instruction: hardware::random().is_some(),
        sha_instructions: hardware::has_sha(),
    }
}
