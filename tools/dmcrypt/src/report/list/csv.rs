//! The list of accepted specifications as CSV: a line for each specification.

use serde::Serialize;
use squall_tools::Failure;

use crate::integrity::Integrity;
use crate::model::{Entry, List};
use crate::spec::Spec;
use crate::verdict::Verdict;

/// A line of CSV; its fields are the columns.
#[derive(Serialize)]
struct Line<'a> {
    specification: String,
    cipher: &'a str,
    mode: &'a str,
    iv: &'a str,
    digest: Option<&'a str>,
    key_bits: u32,
    integrity: Option<Integrity>,
    verdict: Verdict,
    rules: String,
    reason: Option<&'a str>,
    source: Option<&'a str>,
    same_as: Option<String>,
}

/// The list as CSV, with a header line; missing values are empty. If there are several reasons, only
/// the first is given in full.
///
/// # Errors
/// A line cannot be written.
pub fn csv(list: &List) -> Result<String, Failure> {
    squall_tools::csv::text(list.accepted.iter().map(line))
}

fn line(entry: &Entry) -> Line<'_> {
    let spec = &entry.spec;
    let rules: Vec<&str> = entry.reasons.iter().map(|reason| reason.rule).collect();
    let first = entry.reasons.first();
    Line {
        specification: spec.name(),
        cipher: &spec.cipher,
        mode: &spec.mode,
        iv: &spec.iv.name,
        digest: spec.iv.digest.as_deref(),
        key_bits: spec.key_bits,
        integrity: spec.integrity,
        verdict: entry.verdict,
        rules: rules.join(" "),
        reason: first.map(|reason| reason.reason),
        source: first.map(|reason| reason.source),
        same_as: entry.same_as.as_ref().map(Spec::to_string),
    }
}
