//! Tells which part of a table's key is the cipher's own.

use crate::names::known;
use crate::spec::Spec;

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
