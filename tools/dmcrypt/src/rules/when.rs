//! Conditions of rules, as data.

use super::strength::{data_key_bits, ignores_iv};
use crate::integrity::Integrity;
use crate::names::known;
use crate::spec::Spec;

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
