//! The list of accepted specifications as text; thousands of them become a few groups.

mod csv;

use std::collections::{BTreeMap, BTreeSet};

use super::phrases;
use crate::integrity::Integrity;
use crate::model::{Entry, List};
use crate::reasons::by_reason;
use crate::spec::{Iv, Spec};
use crate::verdict::{Reason, Verdict};
use squall_tools::columns::{columns, lines, paragraph, whole};

pub use csv::csv;

/// The list for a terminal: the secure ones, a row for each cipher with its mode and IV, then the
/// others by the rules against them. Only long names are wider than `width`.
pub fn text(list: &List, width: Option<usize>) -> String {
    let mut text = String::new();
    machine(&mut text, list, width);
    secure(&mut text, list, width);
    authenticated(&mut text, list, width);
    for verdict in [Verdict::Compatible, Verdict::Insecure] {
        ruled_out(&mut text, list, verdict, width);
    }
    text
}

fn machine(text: &mut String, list: &List, width: Option<usize>) {
    let machine = &list.machine;
    if machine.is_emulated {
        text.push_str(&paragraph("EMULATED: This machine is emulated.", width));
    }
    if !list.is_complete {
        text.push_str(&paragraph(
            "INCOMPLETE: the run was interrupted, and specifications are missing.",
            width,
        ));
    }
    let place = format!(
        "Linux {}, squall {}; {}",
        machine.kernel, machine.squall, machine.cpu
    );
    text.push_str(&paragraph(&place, width));
    let of = |verdict| {
        let count = list
            .accepted
            .iter()
            .filter(|entry| entry.verdict == verdict)
            .count();
        format!("{count} {}", phrases::verdict(verdict))
    };
    let again = list
        .accepted
        .iter()
        .filter(|entry| entry.same_as.is_some())
        .count();
    let counts = format!(
        "{} specifications accepted of {} that were tried: {}, {}, {}. {again} of them mean the same \
         as another.",
        list.accepted.len(),
        list.tried,
        of(Verdict::Secure),
        of(Verdict::Compatible),
        of(Verdict::Insecure),
    );
    text.push_str(&paragraph(&counts, width));
}

/// A row of secure ones: the specification without digest and key, such as `aes-cbc-essiv`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    rank: usize,
    name: String,
    key_bits: Vec<u32>,
}

fn secure(text: &mut String, list: &List, width: Option<usize>) {
    let rows = rows(secure_specs(list).filter(|spec| spec.integrity.is_none()));
    text.push_str("\nSecure\n");
    if rows.is_empty() {
        return text.push_str(&paragraph("Nothing that this kernel accepts is.", width));
    }
    text.push_str(&table(["", "bits of key", "digests"], rows, width));
}

fn secure_specs(list: &List) -> impl Iterator<Item = &Spec> {
    let entries = list.accepted.iter();
    let secure = entries.filter(|entry| entry.verdict == Verdict::Secure);
    secure.map(|entry| &entry.spec)
}

/// The secure ones that are authenticated: a row for each specification with its key lengths, and what
/// may authenticate it.
fn authenticated(text: &mut String, list: &List, width: Option<usize>) {
    if !list.has_integrity {
        text.push('\n');
        return text.push_str(&paragraph(
            "Nothing authenticated: that takes dm-integrity (CONFIG_DM_INTEGRITY), and dm-zero to ask \
             about it, which this kernel lacks.",
            width,
        ));
    }
    let mut bits: BTreeMap<(usize, String, Integrity), Vec<u32>> = BTreeMap::new();
    for spec in secure_specs(list) {
        if let Some(integrity) = spec.integrity {
            let row = (rank(&spec.mode), spec.name(), integrity);
            bits.entry(row).or_default().push(spec.key_bits);
        }
    }
    let mut rows: BTreeMap<Row, BTreeSet<&str>> = BTreeMap::new();
    for ((rank, name, integrity), key_bits) in bits {
        let row = Row {
            rank,
            name,
            key_bits,
        };
        rows.entry(row).or_default().insert(integrity.word());
    }
    text.push_str("\nSecure and authenticated, over dm-integrity\n");
    let header = ["", "bits of key", "by"];
    text.push_str(&table(header, rows, width));
}

/// A table of `rows`.
fn table(header: [&str; 3], rows: BTreeMap<Row, BTreeSet<&str>>, width: Option<usize>) -> String {
    let mut table = columns(width);
    table.set_header(header);
    for (row, names) in rows {
        let bits: Vec<String> = row.key_bits.iter().map(u32::to_string).collect();
        table.add_row([row.name, bits.join(" "), joined(&names, " ")]);
    }
    whole(&mut table, 0);
    lines(&mut table, 1, |_| false)
}

/// The rows with their digests; all digests in a row have the same key lengths.
fn rows<'a>(specs: impl Iterator<Item = &'a Spec>) -> BTreeMap<Row, BTreeSet<&'a str>> {
    let mut bits: BTreeMap<(Spec, &str), Vec<u32>> = BTreeMap::new();
    for spec in specs {
        let of = Spec {
            iv: Iv::plain(&spec.iv.name),
            key_bits: 0,
            ..spec.clone()
        };
        let digest = spec.iv.digest.as_deref().unwrap_or_default();
        bits.entry((of, digest)).or_default().push(spec.key_bits);
    }
    let mut rows: BTreeMap<Row, BTreeSet<&str>> = BTreeMap::new();
    for ((spec, digest), key_bits) in bits {
        let row = Row {
            rank: rank(&spec.mode),
            name: spec.name(),
            key_bits,
        };
        rows.entry(row).or_default().insert(digest);
    }
    rows
}

/// Sorts the usual modes first.
fn rank(mode: &str) -> usize {
    let usual = ["xts", "adiantum", "hctr2", "cbc"];
    usual
        .iter()
        .position(|name| *name == mode)
        .unwrap_or(usual.len())
}

fn ruled_out(text: &mut String, list: &List, verdict: Verdict, width: Option<usize>) {
    let is_such = |entry: &&Entry| entry.verdict == verdict;
    let groups = by_reason(list.accepted.iter().filter(is_such));
    if groups.is_empty() {
        return;
    }
    let heading = match verdict {
        Verdict::Compatible => "Only for disks that another program made this way",
        _ => "Insecure",
    };
    text.push('\n');
    text.push_str(&paragraph(
        &format!("{heading}: specifications, by the first rule against them"),
        width,
    ));
    let mut table = columns(width);
    for (reason, specs) in groups {
        table.add_row(row(&reason, &specs));
    }
    whole(&mut table, 1);
    text.push_str(&lines(&mut table, 1, |column| column == 0));
}

/// The row of a rule: the specifications whose first reason it is.
fn row(reason: &Reason, specs: &[&Spec]) -> [String; 3] {
    let Reason {
        rule,
        reason,
        source,
        ..
    } = reason;
    let algorithms: BTreeSet<String> = specs.iter().map(|spec| spec.algorithm()).collect();
    let ivs: BTreeSet<&str> = specs.iter().map(|spec| spec.iv.name.as_str()).collect();
    let what = format!(
        "{reason} ({source})\n{}\nwith {}",
        joined(&algorithms, " "),
        joined(&ivs, " "),
    );
    [specs.len().to_string(), (*rule).to_owned(), what]
}

fn joined(names: &BTreeSet<impl AsRef<str>>, between: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.join(between)
}

#[cfg(test)]
mod tests;
