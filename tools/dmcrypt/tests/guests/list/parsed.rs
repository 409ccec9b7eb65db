//! The output of `squall dmcrypt list --json`, and the kernel's names for it.

use serde::Deserialize;

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
