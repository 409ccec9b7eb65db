//! Names of workloads.

/// Requests of one `u32` (at 4) and one `u64` (at 8).
pub const WORDS: &str = "words";
/// Requests by their length in bytes.
pub const FILL: &str = "fill";
/// 16,777,216 `u32`, as in the proposal of a vDSO getrandom.
pub const PROPOSAL: &str = "vdso-proposal";
/// Requests of 32 bytes by the number of threads that make them.
pub const THREADS_SMALL: &str = "threads-32";
/// Requests of 16 KiB by the number of threads that make them.
pub const THREADS_LARGE: &str = "threads-16384";
/// Ten that draw and ten that take it from them (at 10): a run.
pub const PIPELINE: &str = "go-pipeline";
/// Bytes in ten seconds: a read.
pub const RATE: &str = "go-rate";
/// Blocks through a pipe, by their length in bytes.
pub const PIPE: &str = "pipe";
/// The first 32 bytes of a new process (at 32).
pub const START: &str = "start";
/// A fork, by the bytes that the child draws before it exits.
pub const FORK: &str = "fork";
