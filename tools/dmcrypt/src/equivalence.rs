//! Finds specifications with the same meaning, and groups that need only one measurement.
//!
//! ECB is the only mode without an IV, so dm-crypt ignores the name of its IV (`crypt_ctr_ivmode` of
//! drivers/md/dm-crypt.c). No other two specifications are the same: `plain` and `plain64` differ
//! beyond 2 TiB, and `cts(cbc)` swaps the last two blocks of a sector even though they are whole. Two
//! spellings of one specification, such as `capi:xts(aes)-plain64`, are read as one [`Spec`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules;
use crate::rules::Verdict;
use crate::spec::{Iv, Spec};

/// The canonical specification that means the same as `spec`; `None` if `spec` is canonical itself.
pub fn equivalent(spec: &Spec) -> Option<Spec> {
    let canonical = canonical(spec);
    (canonical != *spec).then_some(canonical)
}

fn canonical(spec: &Spec) -> Spec {
    let iv = match spec.mode.as_str() {
        "ecb" => Iv::plain("null"),
        _ => spec.iv.clone(),
    };
    Spec { iv, ..spec.clone() }
}

/// Groups `specs`: each group has the specification to measure and those that it stands for. Members
/// have the same verdict, and mean the same or differ only in ESSIV's digest, which is used only when
/// a table is loaded, or in a key length that AES does not have and that the cipher (Serpent, CAST6)
/// pads to the next longer one, if that is in `specs`. The member with SHA-256 is preferred.
pub fn groups(specs: &[Spec]) -> Vec<(Spec, Vec<Spec>)> {
    let kinds: BTreeSet<(Verdict, Spec)> = specs.iter().map(kind).collect();
    let mut groups: BTreeMap<(Verdict, Spec), Vec<Spec>> = BTreeMap::new();
    for spec in specs {
        let own = kind(spec);
        let mut usual = own.clone();
        usual.1.key_bits = usual_bits(spec);
        let of = if kinds.contains(&usual) { usual } else { own };
        groups.entry(of).or_default().push(spec.clone());
    }
    groups.into_values().filter_map(preferred_member).collect()
}

/// The verdict and specification that all those have in common that differ only in ESSIV's digest.
fn kind(spec: &Spec) -> (Verdict, Spec) {
    let mut kind = canonical(spec);
    kind.iv.digest = None;
    (rules::judge(spec).0, kind)
}

/// The shortest key length of AES in this mode that is not below that of `spec`, if the cipher works
/// the same with it; otherwise the length of `spec`.
fn usual_bits(spec: &Spec) -> u32 {
    let keys = match (spec.cipher.as_str(), spec.mode.as_str()) {
        ("serpent" | "cast6", "xts") => 2,
        ("serpent" | "cast6", "cbc") => 1,
        _ => return spec.key_bits,
    };
    let usual = [128, 192, 256].map(|bits| keys * bits);
    let longer = usual.into_iter().find(|bits| *bits >= spec.key_bits);
    longer.unwrap_or(spec.key_bits)
}

/// The member of `group` to measure, and the others.
fn preferred_member(mut group: Vec<Spec>) -> Option<(Spec, Vec<Spec>)> {
    group.sort_by_cached_key(|spec| (preference(spec), spec.clone()));
    group.dedup();
    let others = group.split_off(1.min(group.len()));
    Some((group.pop()?, others))
}

/// The sort key of a group's members; the lowest is measured.
fn preference(spec: &Spec) -> (Reverse<bool>, Reverse<bool>) {
    let is_usual = match &spec.iv.digest {
        Some(digest) => digest == "sha256",
        None => equivalent(spec).is_none(),
    };
    let has_usual_key = usual_bits(spec) == spec.key_bits;
    (Reverse(has_usual_key), Reverse(is_usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is measured, and what stands behind it.
    #[rustfmt::skip]
    const GROUPS: [(&str, &[&str]); 11] = [
        ("aes-cbc-essiv:sha256 128", &[]),
        ("aes-cbc-essiv:sha256 256", &["aes-cbc-essiv:blake2b-256 256"]),
        ("aes-ecb-null 256", &["aes-ecb-essiv:md5 256", "aes-ecb-plain 256"]),
        // Only the next longer key of AES is used the same way.
        ("cast6-cbc-essiv:sha256 192", &["cast6-cbc-essiv:blake2b-160 160"]),
        ("serpent-cbc-essiv:sha3-256 128", &[]),
        ("serpent-xts-plain64 384", &["serpent-xts-plain64 288"]),
        ("serpent-xts-plain64 416", &[]),
        ("aes-xts-plain 512", &[]),
        // A secure one stands for none that is not.
        ("aes-cbc-essiv:md5 256", &[]),
        ("aes-cbc-plain64 256", &[]),
        ("serpent-cbc-essiv:md5 128", &[]),
    ];

    #[test]
    fn groups_have_what_needs_one_measurement() {
        let read = |text: &str| text.parse::<Spec>().expect("a specification");
        let expected = GROUPS.map(|(first, behind)| {
            let behind: Vec<Spec> = behind.iter().map(|text| read(text)).collect();
            (read(first), behind)
        });
        // Other names, and one of them twice.
        let all = |(first, behind): &(Spec, Vec<Spec>)| {
            [&behind[..], &[first.clone(), first.clone()]].concat()
        };
        let specs = expected.iter().flat_map(all);
        let mut found = groups(&specs.collect::<Vec<_>>());
        found.sort_by_key(|(first, _)| {
            let place = GROUPS.iter().position(|(text, _)| read(text) == *first);
            place.expect("one that is measured")
        });
        assert_eq!(found, expected);
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn every_specification_is_in_one_group_of_one_verdict() {
        let specs = crate::candidates::tests::some();
        let all = groups(&specs);
        let members = all.iter().map(|(_, behind)| 1 + behind.len());
        assert_eq!(members.sum::<usize>(), specs.len());
        assert!(all.len() < specs.len());
        let verdict = |spec: &Spec| rules::judge(spec).0;
        for (measured, behind) in all {
            assert!(behind.iter().all(|it| verdict(it) == verdict(&measured)));
        }
    }
}
