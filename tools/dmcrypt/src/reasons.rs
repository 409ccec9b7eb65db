//! Groups insecure specifications by the reason against them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::Entry;
use crate::spec::Spec;
use crate::verdict::Reason;

/// Groups the `entries` that have a reason against them by their first reason. The largest group comes
/// first; groups of equal size are sorted by the rule's name.
pub fn by_reason<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<(Reason, Vec<&'a Spec>)> {
    let mut by_rule: BTreeMap<&str, (Reason, Vec<&Spec>)> = BTreeMap::new();
    for entry in entries {
        if let Some(&reason) = entry.reasons.first() {
            let group = by_rule.entry(reason.rule);
            let (_, specs) = group.or_insert_with(|| (reason, Vec::new()));
            specs.push(&entry.spec);
        }
    }
    let mut groups: Vec<_> = by_rule.into_values().collect();
    groups.sort_by_key(|(_, specs)| Reverse(specs.len()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_sorted_by_size_and_then_by_name() {
        let entries = [
            "aes-pcbc-plain64 256",
            "aes-ctr-plain64 256",
            "twofish-ecb-null 256",
            "aes-ecb-null 256",
            "aes-xts-plain64 512",
        ]
        .map(|text| Entry::of(text.parse().expect("a specification")));
        let groups = by_reason(&entries);
        let told: Vec<_> = groups
            .iter()
            .map(|(reason, specs)| (reason.rule, specs.len()))
            .collect();
        assert_eq!(told, [("ecb", 2), ("keystream", 1), ("pcbc", 1)]);
        assert_eq!(groups[0].1[0].cipher, "twofish", "as they came");
    }
}
