//! The output of `squall dmcrypt list --json` with the kernel's names for it; and samples of what is in a list and what
//! is not, about which the kernel is asked through dmsetup.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::guests::workspace::GuestSession;

/// A list. Its schema checks the keys that are not here.
#[derive(Deserialize)]
pub struct List {
    pub format: String,
    pub machine: Machine,
    pub is_complete: bool,
    pub tried: usize,
    pub has_integrity: bool,
    pub accepted: Vec<Entry>,
}

#[derive(Deserialize)]
pub struct Machine {
    pub is_emulated: bool,
}

#[derive(Deserialize)]
pub struct Entry {
    #[serde(flatten)]
    pub spec: Spec,
    pub verdict: String,
    pub reasons: Vec<Reason>,
    pub same_as: Option<Spec>,
}

#[derive(Deserialize)]
pub struct Reason {
    pub rule: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Spec {
    pub cipher: String,
    pub mode: String,
    pub iv: Iv,
    pub key_bits: usize,
    pub integrity: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Iv {
    pub name: String,
    pub digest: Option<String>,
}

impl Entry {
    /// The rules that it breaks, separated by blanks, the first one first.
    pub fn rules(&self) -> String {
        let rules: Vec<&str> = self.reasons.iter().map(|it| it.rule.as_str()).collect();
        rules.join(" ")
    }
}

impl Spec {
    /// The name with the key's bits and what authenticates, as in the text output.
    pub fn shown(&self) -> String {
        let integrity = self.integrity.iter().map(|word| format!(" {word}"));
        format!(
            "{} {}{}",
            self.name(),
            self.key_bits,
            integrity.collect::<String>()
        )
    }

    /// The name in dm-crypt's notation, or in the crypto API's where modes are nested.
    pub fn name(&self) -> String {
        let iv = self.iv.shown();
        match self.mode.split_once('(') {
            None if self.mode.is_empty() => format!("{}-{iv}", self.cipher),
            None => format!("{}-{}-{iv}", self.cipher, self.mode),
            Some((outer, inner)) => {
                let inner = inner.trim_end_matches(')');
                format!("capi:{outer}({inner}({}))-{iv}", self.cipher)
            }
        }
    }
}

impl Iv {
    pub fn shown(&self) -> String {
        match &self.digest {
            Some(digest) => format!("{}:{digest}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Number of samples for each mode and cipher, both of accepted and of refused specifications.
const OF_EACH: usize = 4;

/// Names that neither this kernel nor any of its modules has.
const ABSENT_CIPHERS: [&str; 4] = ["aria", "fcrypt", "sm4", "speck"];
const ABSENT_MODES: [&str; 6] = ["cfb", "hctr2", "kw", "ofb", "pcbc", "xctr"];

/// Digests whose length is no cipher's key length, and one that does not exist.
const USELESS_DIGESTS: [&str; 3] = ["sha512", "streebog512", "tgr192"];

/// A sample: specifications, and whether they are in the list.
pub fn sample(list: &List) -> Vec<(Spec, bool)> {
    let accepted: BTreeSet<&Spec> = list.accepted.iter().map(|entry| &entry.spec).collect();
    let mut by_algorithm: BTreeMap<(&str, &str), Vec<&Spec>> = BTreeMap::new();
    for spec in &accepted {
        let algorithm = (spec.mode.as_str(), spec.cipher.as_str());
        by_algorithm.entry(algorithm).or_default().push(spec);
    }
    let (ivs, lengths) = (ivs(&accepted), lengths(&accepted));
    let mut sample = Vec::new();
    for ((mode, cipher), specs) in &by_algorithm {
        let taken = spread(specs.iter().map(|spec| (**spec).clone()).collect(), OF_EACH);
        sample.extend(taken.into_iter().map(|spec| (spec, true)));
        let mut others = all(mode, cipher, &ivs, &lengths);
        others.retain(|spec| !accepted.contains(spec));
        sample.extend(
            spread(others, OF_EACH)
                .into_iter()
                .map(|spec| (spec, false)),
        );
    }
    for (mode, cipher) in impossible(&by_algorithm) {
        let others = all(mode, cipher, &ivs, &lengths);
        sample.extend(spread(others, 1).into_iter().map(|spec| (spec, false)));
    }
    sample
}

fn ivs(accepted: &BTreeSet<&Spec>) -> BTreeSet<Iv> {
    let useless = USELESS_DIGESTS.map(|digest| Iv {
        name: "essiv".into(),
        digest: Some(digest.into()),
    });
    accepted
        .iter()
        .map(|spec| spec.iv.clone())
        .chain(useless)
        .collect()
}

fn lengths(accepted: &BTreeSet<&Spec>) -> BTreeSet<usize> {
    accepted.iter().map(|spec| spec.key_bits).collect()
}

/// Pairs of a mode and a cipher that do not appear in a list.
fn impossible<'a, T>(possible: &BTreeMap<(&'a str, &'a str), T>) -> Vec<(&'a str, &'a str)> {
    let modes = possible.keys().map(|(mode, _)| *mode).chain(ABSENT_MODES);
    let ciphers = possible
        .keys()
        .map(|(_, cipher)| *cipher)
        .chain(ABSENT_CIPHERS);
    let (modes, ciphers): (BTreeSet<_>, BTreeSet<_>) = (modes.collect(), ciphers.collect());
    let pairs = modes
        .iter()
        .flat_map(|mode| ciphers.iter().map(|cipher| (*mode, *cipher)));
    pairs.filter(|pair| !possible.contains_key(pair)).collect()
}

/// All specifications with one mode and one cipher, except those with several keys (loop-AES's IV with
/// a name of the crypto API).
fn all(mode: &str, cipher: &str, ivs: &BTreeSet<Iv>, lengths: &BTreeSet<usize>) -> Vec<Spec> {
    let has_one_key = |iv: &&Iv| iv.name != "lmk" || !mode.contains('(');
    let with_lengths = |iv: &Iv| {
        let spec = |key_bits: &usize| Spec {
            cipher: cipher.into(),
            mode: mode.into(),
            iv: iv.clone(),
            key_bits: *key_bits,
            integrity: None,
        };
        lengths.iter().map(spec).collect::<Vec<_>>()
    };
    ivs.iter()
        .filter(has_one_key)
        .flat_map(with_lengths)
        .collect()
}

/// Picks `count` of `all`, evenly spread.
fn spread(all: Vec<Spec>, count: usize) -> Vec<Spec> {
    let step = all.len().div_ceil(count).max(1);
    let offset = all.len() % step;
    all.into_iter()
        .skip(offset.min(step / 2))
        .step_by(step)
        .collect()
}

/// Asks the kernel through dmsetup, by loading each table over a device that refuses all transfers.
pub fn asked(session: &mut GuestSession, specs: &[&Spec]) -> Vec<bool> {
    let tables: Vec<String> = specs.iter().map(|spec| table(spec)).collect();
    session.write("/tmp/tables", tables.join("\n") + "\n");
    session.ok("dmsetup create base --table '0 2048 error' && dmsetup create asked --notable");
    let output = session.ok("while read -r table; do
            dmsetup load asked --table \"$table\" >/dev/null 2>&1 && echo yes || echo no
        done </tmp/tables");
    session.ok("dmsetup remove asked && dmsetup remove base");
    output.lines().map(|line| line == "yes").collect()
}

/// A table whose key contains no byte twice.
fn table(spec: &Spec) -> String {
    let byte = |number: usize| format!("{:02x}", (number * 167 + 13) % 256);
    let key: String = (0..spec.key_bits / 8).map(byte).collect();
    let key = if key.is_empty() { "-" } else { &key };
    format!("0 2048 crypt {} {key} 0 /dev/mapper/base 0", spec.name())
}
