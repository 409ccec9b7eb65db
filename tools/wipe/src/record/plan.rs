//! What was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContentKind, Scope};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// What each pass writes, in order.
    #[schemars(length(min = 1))]
    pub passes: Vec<ContentKind>,
    /// How much is read back and compared.
    pub verify: Scope,
    /// Whether it is read back after each pass, and not only after the last.
    pub verify_each: bool,
    /// Whether the keys are kept after the job.
    pub keep_key: bool,
}

impl Plan {
    /// The number of passes.
    pub fn count(&self) -> u32 {
        self.passes.len() as u32
    }

    /// What pass `number` writes, counted from 1.
    pub fn content(&self, number: u32) -> Option<ContentKind> {
        self.passes.get(number.checked_sub(1)? as usize).copied()
    }

    /// Whether one of its passes has a key. Then each has one.
    pub fn has_keys(&self) -> bool {
        self.passes.contains(&ContentKind::Keystream)
    }

    /// Whether what is on the drive in the end can only be compared with a key.
    pub fn ends_with_key(&self) -> bool {
        self.passes.last() == Some(&ContentKind::Keystream)
    }
}
