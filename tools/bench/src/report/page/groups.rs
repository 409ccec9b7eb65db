//! Sources of a table, by their families.

use crate::report::model::{Group, Report, SourceReport, State};

pub fn name(group: Group) -> &'static str {
    match group {
        Group::Squall => "squall",
        Group::Variant => "squall with one thing changed",
        Group::Kernel => "The kernel's generator",
        Group::Library => "Libraries and languages",
        Group::Accumulator => "Accumulators of entropy",
        Group::Other => "Not for secrets",
    }
}

/// The measured sources that `is_wanted`, of each family that has any.
pub fn groups(
    report: &Report,
    is_wanted: impl Fn(&SourceReport) -> bool,
) -> Vec<(Group, Vec<&SourceReport>)> {
    let of_group = |group| {
        let sources = report.sources.iter().filter(|source| {
            source.group == group && source.state == State::Measured && is_wanted(source)
        });
        (group, sources.collect::<Vec<_>>())
    };
    let groups = Group::ALL.into_iter().map(of_group);
    groups.filter(|(_, sources)| !sources.is_empty()).collect()
}
