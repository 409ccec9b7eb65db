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

    fn read(text: &str) -> Spec {
        text.parse().unwrap()
    }

    fn read_all(texts: &[&str]) -> Vec<Spec> {
        texts.iter().map(|text| read(text)).collect()
    }

    #[test]
    fn ecb_ignores_the_name_of_its_iv() {
        for iv in ["plain64", "tcw", "essiv:sha256"] {
            let spec = read(&format!("aes-ecb-{iv} 256"));
            assert_eq!(equivalent(&spec), Some(read("aes-ecb-null 256")));
        }
        assert_eq!(equivalent(&read("aes-ecb-null 256")), None);
    }

    #[test]
    fn what_differs_is_not_the_same() {
        for spec in [
            "aes-xts-plain 512",
            "capi:cts(cbc(aes))-plain64 256",
            "aes-cbc-null 128",
        ] {
            assert_eq!(equivalent(&read(spec)), None, "{spec}");
        }
    }

    #[test]
    fn digests_stand_behind_sha256() {
        let specs = read_all(&[
            "aes-cbc-essiv:blake2b-256 256",
            "aes-cbc-essiv:sha256 256",
            "aes-cbc-essiv:sha256 128",
            "aes-cbc-essiv:md5 256",
            "aes-cbc-plain64 256",
        ]);
        let [_, long, weak, plain] = &groups(&specs)[..] else {
            panic!("{:?}", groups(&specs));
        };
        assert_eq!(plain, &(read("aes-cbc-plain64 256"), vec![]));
        let behind = read_all(&["aes-cbc-essiv:blake2b-256 256"]);
        assert_eq!(long, &(read("aes-cbc-essiv:sha256 256"), behind));
        assert_eq!(weak, &(read("aes-cbc-essiv:md5 256"), vec![]));
    }

    /// A secure specification never stands for one that is not.
    #[test]
    fn all_of_a_group_have_one_verdict() {
        let specs = read_all(&[
            "serpent-cbc-essiv:md5 128",
            "serpent-cbc-essiv:sha3-256 128",
        ]);
        assert_eq!(groups(&specs).len(), 2);
        let verdict = |spec: &Spec| rules::judge(spec).0;
        for (measured, behind) in groups(&crate::candidates::tests::some()) {
            assert!(behind.iter().all(|it| verdict(it) == verdict(&measured)));
        }
    }

    #[test]
    fn what_means_the_same_is_measured_once() {
        let specs = read_all(&[
            "aes-ecb-benbi 256",
            "aes-ecb-null 256",
            "aes-ecb-plain 256",
            "aes-ecb-null 256",
        ]);
        let [(measured, behind)] = &groups(&specs)[..] else {
            panic!();
        };
        assert_eq!(measured, &read("aes-ecb-null 256"));
        assert_eq!(
            behind,
            &read_all(&["aes-ecb-benbi 256", "aes-ecb-plain 256"])
        );
    }

    #[test]
    fn every_specification_is_in_one_group() {
        let specs = crate::candidates::tests::some();
        let all = groups(&specs);
        let members = all
            .iter()
            .map(|(_, behind)| 1 + behind.len())
            .sum::<usize>();
        assert_eq!(members, specs.len());
        assert!(all.len() < specs.len());
        assert_eq!(groups(&[]), []);
    }

    /// Another length is measured if the next longer one is missing or has a worse verdict.
    #[test]
    fn a_length_that_aes_does_not_have_is_not_measured_by_itself() {
        let specs = read_all(&[
            "serpent-xts-plain64 288",
            "serpent-xts-plain64 384",
            "serpent-xts-plain64 416",
            "cast6-cbc-essiv:blake2b-160 160",
            "cast6-cbc-essiv:sha256 192",
        ]);
        let all = groups(&specs);
        let group = |text: &str| all.iter().find(|(first, _)| *first == read(text));
        assert_eq!(all.len(), 3);
        let behind = |text: &str| group(text).expect("it is measured").1.clone();
        assert_eq!(
            behind("serpent-xts-plain64 384"),
            read_all(&["serpent-xts-plain64 288"])
        );
        assert_eq!(behind("serpent-xts-plain64 416"), []);
        assert_eq!(
            behind("cast6-cbc-essiv:sha256 192"),
            read_all(&["cast6-cbc-essiv:blake2b-160 160"])
        );
    }
}
