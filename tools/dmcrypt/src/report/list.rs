//! The list of accepted specifications: thousands of them become a few groups for people, and a line each in CSV.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use squall_tool_base::report::{Cell, Column, Document, Kind, Part, Section, Table};
use squall_tool_base::reports::Line;

use super::{date, rule, rules_table, warnings};
use crate::model::{Entry, List, by_reason};
use crate::rules::{Reason, Verdict};
use crate::spec::{Iv, Spec};

/// The list for people: the secure ones, a row for each cipher with its mode and IV, then the others by the
/// rules against them.
pub fn document(list: &List) -> Document {
    let machine = &list.machine;
    let (emulated, incomplete) = (
        "This machine is emulated, or user-mode Linux.",
        "The run was interrupted, and specifications are missing.",
    );
    let mut parts = vec![counts(list), secure(list), authenticated(list)];
    parts.extend([Verdict::Compatible, Verdict::Insecure].map(|it| ruled_out(list, it)));
    Document {
        title: format!("Disk encryption of Linux {}", machine.kernel),
        command: "squall dmcrypt list",
        heading: "Disk encryption that this kernel accepts",
        machine: format!(
            "Linux {}, squall {}; {}",
            machine.kernel, machine.squall, machine.cpu
        ),
        date: date(&list.at),
        warnings: warnings(machine, emulated, list.is_complete, incomplete),
        advice: Vec::new(),
        parts,
        footer: format!("squall {}, report {}", machine.squall, list.format),
    }
}

fn counts(list: &List) -> Part {
    let of = |verdict: Verdict| {
        let such = list.accepted.iter().filter(|it| it.verdict == verdict);
        format!("{} {}", such.count(), verdict.described())
    };
    let again = list.accepted.iter().filter(|it| it.same_as.is_some());
    Part::Note(format!(
        "{} specifications accepted of {} that were tried: {}, {}, {}. {} of them mean the same as another.",
        list.accepted.len(),
        list.tried,
        of(Verdict::Secure),
        of(Verdict::Compatible),
        of(Verdict::Insecure),
        again.count(),
    ))
}

/// The place of the mode, the specification without what varies and without the key, such as `aes-cbc-essiv`, and the
/// lengths of keys.
type Row = (usize, String, Vec<u32>);

/// Rows of secure ones, with what varies in each.
type Rows<'a> = BTreeMap<Row, BTreeSet<&'a str>>;

fn secure(list: &List) -> Part {
    let rows = rows(secure_specs(list).filter(|spec| spec.integrity.is_none()));
    let part = if rows.is_empty() {
        Part::Note("Nothing that this kernel accepts is.".into())
    } else {
        table("digests", rows)
    };
    Section::part("secure", "Secure", vec![part])
}

fn secure_specs(list: &List) -> impl Iterator<Item = &Spec> {
    let entries = list.accepted.iter();
    let secure = entries.filter(|entry| entry.verdict == Verdict::Secure);
    secure.map(|entry| &entry.spec)
}

/// The secure ones that are authenticated: a row for each specification with its key lengths, and what
/// may authenticate it.
fn authenticated(list: &List) -> Part {
    let part = if list.has_integrity {
        let authenticated = |spec| Some((spec, Spec::name(spec), spec.integrity?.word()));
        table("by", rows_of(secure_specs(list).filter_map(authenticated)))
    } else {
        let missing = "None: that takes dm-integrity (CONFIG_DM_INTEGRITY), and dm-zero to ask about it, which \
                       this kernel lacks.";
        Part::Note(missing.into())
    };
    let heading = "Secure and authenticated, over dm-integrity";
    Section::part("authenticated", heading, vec![part])
}

fn table(names: &str, rows: Rows) -> Part {
    let row = |((_, name, bits), names): (Row, BTreeSet<&str>)| {
        let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
        [name, bits.join(" "), joined(&names)].map(Cell::new).into()
    };
    Part::Table(Table {
        columns: vec![
            Column::new("", Kind::Name),
            Column::new("bits of key", Kind::Prose),
            Column::new(names, Kind::Prose),
        ],
        groups: vec![(None, rows.into_iter().map(row).collect())],
        ..Table::default()
    })
}

/// The rows with their digests.
fn rows<'a>(specs: impl Iterator<Item = &'a Spec>) -> Rows<'a> {
    rows_of(specs.map(|spec| {
        let without_digest = Spec {
            iv: Iv::plain(&spec.iv.name),
            ..spec.clone()
        };
        let digest = spec.iv.digest.as_deref().unwrap_or_default();
        (spec, without_digest.name(), digest)
    }))
}

/// The rows of specifications, each with its name in the row and what varies; all in a row have the same key lengths.
fn rows_of<'a>(specs: impl Iterator<Item = (&'a Spec, String, &'a str)>) -> Rows<'a> {
    let mut bits: BTreeMap<(usize, String, &str), Vec<u32>> = BTreeMap::new();
    for (spec, name, varying) in specs {
        let key = (rank(&spec.mode), name, varying);
        bits.entry(key).or_default().push(spec.key_bits);
    }
    let mut rows = Rows::new();
    for ((rank, name, varying), bits) in bits {
        rows.entry((rank, name, bits)).or_default().insert(varying);
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

/// The specifications with this verdict, by the first rule against them.
fn ruled_out(list: &List, verdict: Verdict) -> Part {
    let is_such = |entry: &&Entry| entry.verdict == verdict;
    let groups = by_reason(list.accepted.iter().filter(is_such));
    if groups.is_empty() {
        return Part::OnPage(Vec::new());
    }
    let (id, heading) = match verdict {
        Verdict::Compatible => (
            "compatible",
            "Only for disks that another program made this way",
        ),
        _ => ("insecure", "Insecure"),
    };
    let heading = format!("{heading}: specifications, by the first rule against them");
    let row = |(reason, specs): (Reason, Vec<&Spec>)| {
        let algorithms: BTreeSet<String> = specs.iter().map(|spec| spec.algorithm()).collect();
        let ivs: BTreeSet<&str> = specs.iter().map(|spec| spec.iv.name.as_str()).collect();
        let what = [joined(&algorithms), format!("with {}", joined(&ivs))];
        rule(&reason, specs.len(), what)
    };
    let table = rules_table([(None, groups.into_iter().map(row).collect())]);
    Section::part(id, &heading, vec![table])
}

fn joined(names: &BTreeSet<impl AsRef<str>>) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.join(" ")
}

/// The lines of CSV: one for each specification. If there are several reasons, only the first is given in full.
pub fn lines(list: &List) -> Vec<Line> {
    list.accepted.iter().map(line).collect()
}

fn line(entry: &Entry) -> Line {
    let spec = &entry.spec;
    let rules: Vec<&str> = entry.reasons.iter().map(|reason| reason.rule).collect();
    let first = entry.reasons.first();
    vec![
        ("specification", json!(spec.name())),
        ("cipher", json!(spec.cipher)),
        ("mode", json!(spec.mode)),
        ("iv", json!(spec.iv.name)),
        ("digest", json!(spec.iv.digest)),
        ("key_bits", json!(spec.key_bits)),
        ("integrity", json!(spec.integrity)),
        ("verdict", json!(entry.verdict)),
        ("rules", json!(rules.join(" "))),
        ("reason", json!(first.map(|reason| reason.reason))),
        ("source", json!(first.map(|reason| reason.source))),
        (
            "same_as",
            json!(entry.same_as.as_ref().map(Spec::to_string)),
        ),
    ]
}
