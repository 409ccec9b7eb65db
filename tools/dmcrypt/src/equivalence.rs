//! Which specifications mean the same, and which need not all be measured.
//!
//! ECB is the only mode that has no IV, so that dm-crypt ignores its name (`crypt_ctr_ivmode` of
//! drivers/md/dm-crypt.c). Nothing else is the same. `plain` and `plain64` differ beyond 2 TiB;
//! `cts(cbc)` swaps the last two blocks of a sector of CBC even though they are whole; and what is
//! written in two ways, as `capi:xts(aes)-plain64`, has one [`Spec`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules;
use crate::spec::{Iv, Spec};
use crate::verdict::Verdict;

/// The specification that means the same as `spec` and stands for all that do, if it is another.
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

/// What of `specs` to measure, each with those that it stands for: they have the same verdict, and
/// mean the same, or differ only in ESSIV's digest, which works once, when a table is loaded, or in a
/// length of key that AES does not have, where the next longer is there and the cipher pads the
/// shorter (Serpent, CAST6). Of several the first is the one with SHA-256.
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
    groups.into_values().filter_map(first).collect()
}

/// What `spec` has in common with all that differ from it in a digest only.
fn kind(spec: &Spec) -> (Verdict, Spec) {
    let mut kind = canonical(spec);
    kind.iv.digest = None;
    (rules::judge(spec).0, kind)
}

/// The least length of key that AES has in this mode and that is not shorter, if the cipher works
/// the same with it.
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

/// The one of `group` to measure, and the others.
fn first(mut group: Vec<Spec>) -> Option<(Spec, Vec<Spec>)> {
    group.sort_by_cached_key(|spec| (preference(spec), spec.clone()));
    group.dedup();
    let others = group.split_off(1.min(group.len()));
    Some((group.pop()?, others))
}

/// Lower for what is rather measured.
fn preference(spec: &Spec) -> (Reverse<bool>, Reverse<bool>) {
    let is_usual = match &spec.iv.digest {
        Some(digest) => digest == "sha256",
        None => equivalent(spec).is_none(),
    };
    let has_usual_key = usual_bits(spec) == spec.key_bits;
    (Reverse(has_usual_key), Reverse(is_usual))
}

#[cfg(test)]
mod tests;
