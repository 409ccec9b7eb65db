//! What differs between two runs besides their figures.

use std::collections::BTreeMap;

use crate::report::model::{Machine, Report};

/// What differs, a line each: the machine, versions, effort.
pub fn apart(old: &Report, new: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |what: &str, old: &str, new: &str| {
        if old != new {
            lines.push(format!("{what}: {old} before, {new} now"));
        }
    };
    compare("squall", &old.squall_version, &new.squall_version);
    compare("effort", &old.effort, &new.effort);
    compare("run", came_to(old), came_to(new));
    for (what, value) in MACHINE {
        compare(what, &value(&old.machine), &value(&new.machine));
    }
    let [before, now] = [&old.machine, &new.machine].map(versions);
    let known: BTreeMap<_, _> = before.iter().chain(&now).collect();
    for of in known.into_keys() {
        let [old, new] = [&before, &now].map(|versions| versions.get(of).copied());
        compare(of, old.unwrap_or("none"), new.unwrap_or("none"));
    }
    lines
}

fn came_to(report: &Report) -> &'static str {
    if report.complete {
        "complete"
    } else {
        "interrupted"
    }
}

fn versions(machine: &Machine) -> BTreeMap<&str, &str> {
    let versions = machine.versions.iter();
    versions
        .map(|version| (version.of.as_str(), version.version.as_str()))
        .collect()
}

type Trait = (&'static str, fn(&Machine) -> String);

const MACHINE: [Trait; 9] = [
    ("CPU", |machine| machine.cpu.clone()),
    ("CPUs", |machine| machine.cpus.to_string()),
    ("kernel", |machine| machine.kernel.clone()),
    ("hypervisor", |machine| or_none(&machine.hypervisor)),
    ("governor", |machine| or_none(&machine.governor)),
    ("bound to one CPU", |machine| yes_or_no(machine.pinned)),
    ("engine", |machine| machine.engine.clone()),
    ("guard against clones", |machine| {
        machine.clone_guard.clone()
    }),
    ("warnings", |machine| match machine.warnings.as_slice() {
        [] => "none".into(),
        warnings => warnings.join(" "),
    }),
];

fn or_none(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| "none".into())
}

fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.into()
}
