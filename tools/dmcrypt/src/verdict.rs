//! Verdicts: whether a specification is fit to protect a disk, and why not.

use schemars::JsonSchema;
use serde::Serialize;

/// What a specification is fit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Fit for new disks.
    Secure,
    /// Only for disks that another program made this way.
    Compatible,
    /// Fit for nothing.
    Insecure,
}

/// Why a specification is not secure: a line of the table of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// The rule's name.
    pub rule: &'static str,
    /// The best verdict that a specification can have against which this rule speaks.
    pub verdict: Verdict,
    /// What is wrong, a sentence without its full stop.
    pub reason: &'static str,
    /// The source of the claim.
    pub source: &'static str,
}
