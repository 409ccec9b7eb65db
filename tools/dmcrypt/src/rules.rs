//! Judges whether a specification is fit to protect a disk, by a table of rules.
//!
//! A specification is secure if no rule applies to it. There are rules against every cipher, mode and
//! digest that squall does not know, so nothing is secure by oversight.

mod strength;
mod table;
mod when;

use std::cmp::Reverse;

use crate::spec::Spec;
use crate::verdict::{Reason, Verdict};

/// The verdict on `spec`, with every reason against it, worst first.
pub fn judge(spec: &Spec) -> (Verdict, Vec<Reason>) {
    let against = table::RULES.iter().filter(|rule| rule.when.holds(spec));
    let mut reasons: Vec<Reason> = against.map(|rule| rule.reason).collect();
    reasons.sort_by_key(|reason| Reverse(reason.verdict));
    let worst = reasons
        .first()
        .map_or(Verdict::Secure, |reason| reason.verdict);
    (worst, reasons)
}

#[cfg(test)]
mod tests;
