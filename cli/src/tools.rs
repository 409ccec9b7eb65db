//! The commands of the feature `tools`. In builds without it, they say how to get them.

const BENCH: &str = "Measure every source of randomness on this machine, side by side";
const WIPE: &str = "Overwrite drives, many at once, and verify the result";
const DRIVES: &str =
    "List drives: what they are, what uses them, whether they can erase themselves";
const BLANK: &str = "Find out whether drives are empty, by reading them";
const VERIFY: &str = "Read wiped drives back and compare them with their reports";
const DMCRYPT: &str =
    "Find out which disk encryption is valid here, which is secure, and which is fast";
const SCHEMAS: &str = "Write the JSON schemas of the tools' output into a folder";

#[cfg(not(feature = "tools"))]
mod absent;
#[cfg(feature = "tools")]
mod present;

#[cfg(not(feature = "tools"))]
pub use absent::{Tool, run};
#[cfg(feature = "tools")]
pub use present::{Tool, run};
