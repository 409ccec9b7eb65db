//! Whether a specification is fit to protect a disk: a table of rules, a line each, and what of it
//! applies.
//!
//! What no rule speaks against is secure. So that nothing is secure by oversight, there are rules
//! against every cipher, mode and digest that squall does not know.

mod strength;
mod table;
mod when;

use std::cmp::Reverse;

use crate::spec::Spec;
use crate::verdict::{Reason, Verdict};

/// What `spec` is fit for, and every reason why it is not fit for more, the worst first.
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
