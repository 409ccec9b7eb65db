//! What `squall dmcrypt list --json` tells, and how the kernel names it.

use serde::Deserialize;

/// A list, of which everything else is checked by its schema.
#[derive(Deserialize)]
pub struct List {
    pub format: String,
    pub machine: Machine,
    pub is_complete: bool,
    pub tried: usize,
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
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Iv {
    pub name: String,
    pub digest: Option<String>,
}

impl Entry {
    /// The rules against it, the first one first.
    pub fn rules(&self) -> String {
        let rules: Vec<&str> = self.reasons.iter().map(|it| it.rule.as_str()).collect();
        rules.join(" ")
    }
}

impl Spec {
    /// With the bits of the key, as people write it.
    pub fn shown(&self) -> String {
        format!("{} {}", self.name(), self.key_bits)
    }

    /// As dm-crypt's documentation has it: the crypto API's own name where modes are nested.
    pub fn name(&self) -> String {
        let iv = self.iv.shown();
        match self.mode.split_once('(') {
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
