//! Whether a specification that the kernel accepts is fit to protect a disk, and why not.

use serde::Serialize;

/// What a specification is fit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A disk of today.
    Secure,
    /// Disks that another program made so, and nothing else.
    Compatible,
    /// Nothing.
    Insecure,
}

/// Why a specification is not secure: a line of the table of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The rule's name.
    pub rule: &'static str,
    /// What it leaves the specification fit for.
    pub verdict: Verdict,
    /// What is wrong, in a sentence without its end.
    pub reason: &'static str,
    /// Who says so.
    pub source: &'static str,
}
