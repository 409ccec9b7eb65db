//! A small model of what dm-crypt accepts in Debian's Linux 6.12, which gives tests realistic lists.
//! It follows drivers/md/dm-crypt.c, crypto/essiv.c and the modes, over the ciphers of that kernel.

use crate::candidates::{algorithms, specs};
use crate::names::{Names, known};
use crate::spec::Spec;

/// The accepted ones of all candidates.
pub fn accepted() -> Vec<Spec> {
    let names = Names::of("", "");
    let all = algorithms(&names).into_iter();
    let specs = all.flat_map(|(mode, cipher)| specs(&mode, &cipher, &names));
    specs.filter(accepts).collect()
}

/// Whether `cipher` takes keys of `bits`.
fn is_key(cipher: &str, bits: u32) -> bool {
    match cipher {
        "aes" | "camellia" | "twofish" => matches!(bits, 128 | 192 | 256),
        "blowfish" => (32..=448).contains(&bits),
        "cast5" => (40..=128).contains(&bits),
        "cast6" => (128..=256).contains(&bits) && bits.is_multiple_of(32),
        "cipher_null" => bits == 0,
        "des" | "fcrypt" => bits == 64,
        "des3_ede" => bits == 192,
        "serpent" => bits <= 256,
        "xchacha12,aes" | "xchacha20,aes" => bits == 256,
        _ => false,
    }
}

/// Whether `mode` over `cipher` takes keys of `bits`.
fn is_mode_key(mode: &str, cipher: &str, bits: u32) -> bool {
    let wide = known::block_bits(cipher) == Some(128);
    match mode {
        "adiantum" | "cbc" | "cts(cbc)" | "ecb" | "pcbc" => is_key(cipher, bits),
        "ctr" => cipher != "cipher_null" && is_key(cipher, bits),
        "kw" => wide && is_key(cipher, bits),
        "lrw" => wide && bits >= 128 && is_key(cipher, bits - 128),
        "rfc3686(ctr)" => wide && bits >= 32 && is_key(cipher, bits - 32),
        "xts" => wide && bits.is_multiple_of(16) && is_key(cipher, bits / 2),
        _ => false,
    }
}

fn accepts(spec: &Spec) -> bool {
    let (mode, cipher, bits) = (spec.mode.as_str(), spec.cipher.as_str(), spec.key_bits);
    let block = known::block_bits(cipher);
    let iv_bits = match mode {
        "adiantum" => 256,
        "kw" | "rfc3686(ctr)" => 64,
        _ => block.unwrap_or(128).max(64),
    };
    let has_whole_blocks = !matches!(mode, "adiantum" | "ctr" | "rfc3686(ctr)");
    let takes = |bits| is_mode_key(mode, cipher, bits);
    if mode == "ecb" {
        return spec.iv.digest.is_none() && takes(bits);
    }
    match spec.iv.name.as_str() {
        "random" => false,
        "eboiv" => has_whole_blocks && block == Some(iv_bits) && takes(bits),
        "elephant" => {
            let half = bits / 2;
            has_whole_blocks && block == Some(iv_bits) && is_key("aes", half) && takes(half)
        }
        "tcw" => bits > iv_bits + 128 && takes(bits - iv_bits - 128),
        "essiv" => {
            let digest = spec.iv.digest.as_deref().and_then(known::digest_bits);
            let is_salt = digest.is_some_and(|bits| is_key(cipher, bits));
            is_salt && block == Some(iv_bits) && is_here(spec) && takes(bits)
        }
        _ => takes(bits),
    }
}

/// Whether Debian's kernel has the digest.
fn is_here(spec: &Spec) -> bool {
    let absent = ["blake2s", "rmd128", "rmd256", "rmd320", "sm3", "tgr"];
    let digest = spec.iv.digest.as_deref().unwrap_or_default();
    !absent.iter().any(|absent| digest.starts_with(absent))
}
