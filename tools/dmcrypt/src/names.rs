//! The ciphers, modes and digests that this kernel has or could load. The names come from
//! /proc/crypto, from the aliases of its modules, and from a list of all that Linux has or had.

pub mod known;

use std::collections::BTreeSet;
use std::fs;

use crate::spec::split_algorithm;

/// The names that specifications are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Single ciphers; each is combined with each mode.
    pub ciphers: BTreeSet<String>,
    /// Modes that take a single cipher.
    pub modes: BTreeSet<String>,
    /// Modes with the only cipher that they take, such as `("adiantum", "xchacha12,aes")`.
    pub pairs: BTreeSet<(String, String)>,
    /// IV generators that need no digest.
    pub ivs: BTreeSet<String>,
    /// Digests for ESSIV.
    pub digests: BTreeSet<String>,
}

impl Names {
    /// Collects the names of this machine. Sources that cannot be read are skipped, such as the
    /// module aliases in a container.
    pub fn collect() -> Names {
        let crypto = fs::read_to_string("/proc/crypto").unwrap_or_default();
        Names::from_texts(&crypto, &aliases().unwrap_or_default())
    }

    /// The known names, with those in `crypto` (the text of /proc/crypto) and `aliases` (the text of
    /// modules.alias).
    pub fn from_texts(crypto: &str, aliases: &str) -> Names {
        let mut names = Names::known();
        for entry in crypto.split("\n\n") {
            names.add_entry(entry);
        }
        let words: BTreeSet<&str> = aliases.lines().filter_map(word).collect();
        for word in &words {
            names.add_word(word, &words);
        }
        names
    }

    fn known() -> Names {
        let names = |table: &[(&str, u32)]| table.iter().map(|(name, _)| (*name).into()).collect();
        let owned = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
        let pairs = known::PAIRS.iter();
        Names {
            ciphers: names(known::CIPHERS),
            modes: owned(known::MODES),
            pairs: pairs
                .map(|(mode, cipher)| ((*mode).into(), (*cipher).into()))
                .collect(),
            ivs: owned(known::IVS),
            digests: names(known::DIGESTS),
        }
    }

    /// Adds an entry of /proc/crypto.
    fn add_entry(&mut self, entry: &str) {
        let field = |wanted: &str| {
            let mut fields = entry.lines().filter_map(|line| line.split_once(':'));
            let found = fields.find(|(name, _)| name.trim() == wanted);
            found.map(|(_, value)| value.trim())
        };
        let (Some(name), Some(kind)) = (field("name"), field("type")) else {
            return;
        };
        if !is_name(name) || field("internal") == Some("yes") {
            return;
        }
        match kind {
            "cipher" if is_word(name) => drop(self.ciphers.insert(name.into())),
            "skcipher" | "lskcipher" | "blkcipher" | "ablkcipher" | "givcipher" => {
                self.add_algorithm(name);
            }
            "shash" | "ahash" | "digest" if is_word(name) && !is_other(name) => {
                self.digests.insert(name.into());
            }
            _ => {}
        }
    }

    /// Adds a mode over a cipher, such as `xts(camellia)`; skips stream ciphers, which have no mode.
    fn add_algorithm(&mut self, name: &str) {
        let Some((mode, cipher)) = split_algorithm(name) else {
            return;
        };
        if cipher.contains(',') {
            self.pairs.insert((mode, cipher));
        } else if !is_other(outermost(&mode)) || self.modes.contains(&mode) {
            self.modes.insert(mode);
            self.ciphers.insert(cipher);
        }
    }

    /// Adds a word of a module alias. An unknown word is added as a cipher, a mode and a digest.
    fn add_word(&mut self, word: &str, all: &BTreeSet<&str>) {
        if word.contains('(') {
            return self.add_algorithm(word);
        }
        let is_known = self.has(word) || is_other(word) || self.is_driver(word, all);
        if !is_known {
            for names in [&mut self.ciphers, &mut self.modes, &mut self.digests] {
                names.insert(word.into());
            }
        }
    }

    fn has(&self, word: &str) -> bool {
        [&self.ciphers, &self.modes, &self.digests]
            .iter()
            .any(|names| names.contains(word))
    }

    /// Whether `word` names a driver, such as `serpent-asm` or `xts-aes-aesni`: those begin with the
    /// name of what they implement.
    fn is_driver(&self, word: &str, all: &BTreeSet<&str>) -> bool {
        let dashes = word.match_indices('-').map(|(at, _)| &word[..at]);
        let mut beginnings = dashes.filter(|beginning| !beginning.is_empty());
        beginnings.any(|beginning| self.has(beginning) || all.contains(beginning))
    }
}

/// The text of this kernel's modules.alias.
fn aliases() -> Option<String> {
    let system = rustix::system::uname();
    let release = system.release().to_str().ok()?;
    let read =
        |root| fs::read_to_string(format!("{root}/lib/modules/{release}/modules.alias")).ok();
    ["", "/usr"].into_iter().find_map(read)
}

/// The word in a line `alias crypto-WORD MODULE`.
fn word(line: &str) -> Option<&str> {
    let mut parts = line.split_ascii_whitespace();
    let alias = parts
        .next()
        .filter(|first| *first == "alias")
        .and(parts.next())?;
    alias.strip_prefix("crypto-").filter(|word| is_name(word))
}

/// Whether `name` can stand in a table of dm-crypt and is not internal to the kernel.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-(),".contains(&byte);
    !name.is_empty() && !name.starts_with("__") && name.bytes().all(is_plain)
}

/// Whether `name` is a single word, not an algorithm made of several parts.
fn is_word(name: &str) -> bool {
    !name.contains(['(', ')', ','])
}

/// Whether `name` is known to be neither a cipher, a mode nor a digest without a key.
fn is_other(name: &str) -> bool {
    let is_of = |other: &&str| match name.strip_prefix(*other) {
        Some(rest) => rest.is_empty() || rest.starts_with(['-', '(']),
        None => false,
    };
    known::OTHERS.iter().any(is_of) || name.starts_with("drbg_")
}

/// The outermost word of a mode: `cts` of `cts(cbc)`.
fn outermost(mode: &str) -> &str {
    mode.split('(').next().unwrap_or(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part of /proc/crypto of Linux 6.12 with aesni_intel, camellia and adiantum loaded.
    const CRYPTO: &str = include_str!("names/proc-crypto.txt");

    /// Part of modules.alias of the same kernel.
    const ALIASES: &str = "\
    # Aliases extracted from modules themselves.
    alias crypto-wp512 wp512
    alias crypto-serpent-asm serpent_avx2
    alias crypto-serpent serpent_avx2
    alias crypto-xts-aes-aesni aesni_intel
    alias crypto-aegis128-aesni aegis128_aesni
    alias crypto-sha3-512-generic sha3_generic
    alias crypto-drbg_nopr_hmac_sha512 drbg
    alias crypto-ecdsa-nist-p256 ecdsa_generic
    alias crypto-ffdhe2048(dh) dh_generic
    alias crypto-cts(cbc(anew)) anew
    alias crypto-lz4hc lz4hc
    alias crypto-vmac64 vmac
    alias crypto-novel novel
    alias crypto-novel-avx2 novel_avx2
    alias crypto-bad:word bad
    alias crypto-
    alias
    alias pci:v00008086d00001F18sv*sd*bc*sc*i* intel_qat
    alias essiv essiv
    ";

    fn found() -> Names {
        let known = Names::from_texts("", "");
        let mut found = Names::from_texts(CRYPTO, ALIASES);
        found.ciphers.retain(|name| !known.ciphers.contains(name));
        found.modes.retain(|name| !known.modes.contains(name));
        found.pairs.retain(|pair| !known.pairs.contains(pair));
        found.digests.retain(|name| !known.digests.contains(name));
        found
    }

    fn sorted(names: &BTreeSet<String>) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_machine_that_tells_nothing_has_the_known_names() {
        let names = Names::from_texts("", "");
        assert_eq!(names.ciphers.len(), known::CIPHERS.len());
        assert_eq!(names.digests.len(), known::DIGESTS.len());
        assert!(names.modes.contains("xts") && names.ivs.contains("plain64"));
        assert!(
            names
                .pairs
                .contains(&("adiantum".into(), "xchacha12,aes".into()))
        );
    }

    #[test]
    fn what_is_new_is_found_and_nothing_else() {
        let found = found();
        assert_eq!(sorted(&found.ciphers), ["anew", "kuznyechik", "novel"]);
        assert_eq!(sorted(&found.modes), ["eme", "novel"]);
        assert_eq!(sorted(&found.digests), ["ascon-hash", "novel"]);
        let pair = |cipher: &str| ("adiantum".to_owned(), cipher.to_owned());
        assert_eq!(found.pairs, BTreeSet::from([pair("xchacha8,aes")]));
    }

    #[test]
    fn a_word_is_tried_as_everything_only_if_nothing_is_known_of_it() {
        let names = |aliases: &str| Names::from_texts("", aliases);
        let none = names("");
        assert_eq!(
            names("alias crypto-novel-avx2 x\nalias crypto-novel x")
                .digests
                .len(),
            none.digests.len() + 1
        );
        assert_ne!(
            names("alias crypto-lz5 lz5"),
            none,
            "control: an unknown word"
        );
        for known in known::OTHERS {
            assert_eq!(names(&format!("alias crypto-{known} x")), none, "{known}");
            assert_eq!(
                names(&format!("alias crypto-{known}-generic x")),
                none,
                "{known}"
            );
        }
    }

    /// Every word in the module aliases of Debian's Linux 6.12 is known.
    #[test]
    fn the_words_of_a_whole_kernel_are_known() {
        let words = include_str!("names/aliases-6.12.txt").split_whitespace();
        let lines: Vec<String> = words
            .map(|word| format!("alias crypto-{word} module"))
            .collect();
        assert!(lines.len() > 150);
        assert_eq!(
            Names::from_texts("", &lines.join("\n")),
            Names::from_texts("", "")
        );
    }

    #[test]
    fn the_lists_of_names_are_sorted_and_disjoint() {
        let of = |table: &[(&'static str, u32)]| table.iter().map(|(name, _)| *name).collect();
        let lists: [Vec<&str>; 4] = [
            of(known::CIPHERS),
            of(known::DIGESTS),
            known::MODES.into(),
            known::IVS.into(),
        ];
        for list in &lists {
            assert!(list.is_sorted_by(|one, next| one < next), "{list:?}");
        }
        let all: Vec<&str> = lists[..3].concat();
        for name in all {
            assert!(!is_other(name) || name.contains('('), "{name}");
        }
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        assert!(Names::collect().ciphers.contains("aes"));
    }
}
