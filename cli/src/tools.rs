//! The commands of the feature `tools`; builds without it say how to get them.

const BENCH: &str = "Measure every source of randomness on this machine, side by side";
const WIPE: &str = "Overwrite drives, many at once, and verify that nothing else is left on them";
const VERIFY: &str = "Compare wiped drives with what their reports say was written";
const DMCRYPT: &str =
    "Find out which disk encryption is valid here, which is secure, and which is fast";

#[cfg(not(feature = "tools"))]
mod absent;
#[cfg(feature = "tools")]
mod present;

#[cfg(not(feature = "tools"))]
pub use absent::{Tool, run};
#[cfg(feature = "tools")]
pub use present::{Tool, run};
