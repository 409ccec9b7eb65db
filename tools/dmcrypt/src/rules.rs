//! Judges whether a specification is fit to protect a disk, by a table of rules.
//!
//! A specification is secure if no rule applies to it. There are rules against every cipher, mode and
//! digest that squall does not know, so nothing is secure by oversight.

mod table;

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;

use crate::integrity::Integrity;
use crate::names::known;
use crate::spec::Spec;

/// What a specification is fit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Fit for new disks.
    Secure,
    /// Only for disks that another program made this way.
    Compatible,
    /// Fit for nothing.
    Insecure,
}

/// Why a specification is not secure: a line of the table of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// The rule's name.
    pub rule: &'static str,
    /// The best verdict that a specification can have against which this rule speaks.
    pub verdict: Verdict,
    /// What is wrong, a sentence without its full stop.
    pub reason: &'static str,
    /// The source of the claim.
    pub source: &'static str,
}

/// The verdict on `spec`, with every reason against it, worst first.
pub fn judge(spec: &Spec) -> (Verdict, Vec<Reason>) {
    let against = table::RULES.iter().filter(|rule| rule.when.holds(spec));
    let mut reasons: Vec<Reason> = against.map(|rule| rule.reason).collect();
    reasons.sort_by_key(|reason| Reverse(reason.verdict));
    let worst = reasons
        .first()
        .map_or(Verdict::Secure, |reason| reason.verdict);
    (worst, reasons)
}

/// A condition on a specification.
pub enum When {
    /// The cipher is one of these.
    Cipher(&'static [&'static str]),
    /// The cipher, or pair of ciphers, is in none of squall's lists.
    UnknownCipher,
    /// The cipher's blocks have this many bits.
    Block(u32),
    /// The mode is one of these.
    Mode(&'static [&'static str]),
    /// The mode is in none of squall's lists.
    UnknownMode,
    /// The mode has an IV, and its generator is one of these.
    Iv(&'static [&'static str]),
    /// The mode has an IV, and squall does not know its generator.
    UnknownIv,
    /// ESSIV's digest is one of these.
    Digest(&'static [&'static str]),
    /// ESSIV's digest is in none of squall's lists.
    UnknownDigest,
    /// ESSIV's digest has fewer bits than the data key.
    DigestBelowKey,
    /// The data key has fewer bits than this.
    KeyBelow(u32),
    /// Something authenticates sectors.
    Authenticated,
    /// This authenticates sectors.
    By(Integrity),
    /// The condition does not hold.
    Not(&'static When),
    /// One of the conditions holds.
    Any(&'static [When]),
    /// All conditions hold.
    All(&'static [When]),
}

impl When {
    /// Whether the condition holds for `spec`.
    pub fn holds(&self, spec: &Spec) -> bool {
        let iv = (!ignores_iv(spec)).then_some(spec.iv.name.as_str());
        let digest = spec.iv.digest.as_deref().filter(|_| iv == Some("essiv"));
        match self {
            When::Cipher(names) => names.contains(&spec.cipher.as_str()),
            When::UnknownCipher => !is_known_cipher(&spec.cipher),
            When::Block(bits) => known::block_bits(&spec.cipher) == Some(*bits),
            When::Mode(names) => names.contains(&spec.mode.as_str()),
            When::UnknownMode => !is_known_mode(spec),
            When::Iv(names) => iv.is_some_and(|iv| names.contains(&iv)),
            When::UnknownIv => iv.is_some_and(|iv| iv != "essiv" && !known::IVS.contains(&iv)),
            When::Digest(names) => digest.is_some_and(|digest| names.contains(&digest)),
            When::UnknownDigest => digest.is_some_and(|it| known::digest_bits(it).is_none()),
            When::DigestBelowKey => digest
                .and_then(known::digest_bits)
                .is_some_and(|bits| bits < data_key_bits(spec)),
            When::KeyBelow(bits) => data_key_bits(spec) < *bits,
            When::Authenticated => spec.integrity.is_some(),
            When::By(integrity) => spec.integrity == Some(*integrity),
            When::Not(when) => !when.holds(spec),
            When::Any(any) => any.iter().any(|when| when.holds(spec)),
            When::All(all) => all.iter().all(|when| when.holds(spec)),
        }
    }
}

fn is_known_cipher(cipher: &str) -> bool {
    let is_paired = known::PAIRS.iter().any(|(_, known)| *known == cipher);
    is_paired || known::block_bits(cipher).is_some() || known::AEAD_CIPHERS.contains(&cipher)
}

fn is_known_mode(spec: &Spec) -> bool {
    let mode = spec.mode.as_str();
    let is_aead = match mode {
        "" => matches!(spec.integrity, Some(Integrity::Aead | Integrity::Poly1305)),
        mode => spec.integrity == Some(Integrity::Aead) && mode == known::AEAD_MODE,
    };
    is_aead || known::MODES.contains(&mode) || known::PAIRS.iter().any(|(known, _)| *known == mode)
}

/// Bits of whitening in the key of a `tcw` table.
const WHITENING: u32 = 128;

/// Bits of the key under which the cipher of `spec` encrypts data. The rest of the key is for tweaks,
/// IVs, a diffuser, whitening or a nonce.
pub fn data_key_bits(spec: &Spec) -> u32 {
    let whole = match (spec.iv.name.as_str(), ignores_iv(spec)) {
        ("elephant", false) => spec.key_bits / 2,
        ("tcw", false) => spec.key_bits.saturating_sub(iv_bits(spec) + WHITENING),
        _ => spec.key_bits,
    };
    match spec.mode.as_str() {
        "xts" => whole / 2,
        "lrw" => whole.saturating_sub(128),
        "rfc3686(ctr)" => whole.saturating_sub(32),
        _ => whole,
    }
}

/// Whether the mode has no IV, so that the IV's name means nothing.
pub fn ignores_iv(spec: &Spec) -> bool {
    spec.mode == "ecb"
}

/// The size of the mode's IV in bits.
fn iv_bits(spec: &Spec) -> u32 {
    match spec.mode.as_str() {
        "adiantum" | "hctr2" => 256,
        "rfc3686(ctr)" | "kw" => 64,
        _ => known::block_bits(&spec.cipher).unwrap_or(128).max(64),
    }
}

#[cfg(test)]
mod tests;
