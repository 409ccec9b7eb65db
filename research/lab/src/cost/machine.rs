//! Describes the machine that was measured.

use serde::Serialize;
use squall_tools::measure::machine::{cpu, kernel};

use super::hardware;

/// The machine and the build.
#[derive(Debug, Serialize)]
pub struct MachineDescription {
    pub cpu: String,
    pub kernel: String,
    /// Whether this is a release build. Figures of other builds mean nothing.
    pub release_build: bool,
    /// Whether the CPU has a random instruction, which the old RNG then uses too.
    pub random_instruction: bool,
    /// Whether the CPU has SHA-1 instructions, which the model of the old RNG then uses.
    pub sha_instructions: bool,
}

pub fn describe() -> MachineDescription {
    MachineDescription {
        cpu: cpu(),
        kernel: kernel(),
        release_build: !cfg!(debug_assertions),
        random_instruction: hardware::random().is_some(),
        sha_instructions: hardware::has_sha(),
    }
}
