//! What the kernel accepts of all that could be: every candidate is asked about, or none of a kind
//! that cannot be.
//!
//! A mode over a cipher that the kernel cannot make is asked about once; so is a digest that it does
//! not have, and ESSIV with a digest that does not fit. Each of these questions has the kernel look for
//! modules, every time anew, which takes much longer than an answer. What the kernel could make is
//! listed in /proc/crypto from then on, whatever it says of the length of a key.

use std::collections::{BTreeMap, BTreeSet};

use squall_tools::{Failure, Interrupt};

use crate::candidates;
use crate::names::Names;
use crate::spec::{Iv, Spec, algorithm};

/// What is asked.
pub trait Kernel {
    /// Whether it accepts `spec`.
    fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure>;

    /// Whether it has what its crypto API calls `name`, after it was asked about something that
    /// needs it; true if that cannot be seen.
    fn has(&mut self, name: &str) -> bool;
}

/// How a survey is made.
pub struct Method<'a> {
    /// Whether even what cannot be is asked about.
    pub is_exhaustive: bool,
    /// Whether its user wants it to end.
    pub interrupt: &'a Interrupt,
    /// Is told how many of the [`steps`] are over, and which mode and cipher was the last.
    pub progress: &'a dyn Fn(u64, &str),
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many questions the kernel was asked.
    pub asked: usize,
    /// What it accepts, sorted.
    pub accepted: Vec<Spec>,
    /// Whether it was interrupted.
    pub is_broken: bool,
}

/// How many steps a survey has: one for each mode over each cipher.
pub fn steps(names: &Names) -> u64 {
    candidates::algorithms(names).len() as u64
}

/// Asks `kernel` about everything that `names` make.
pub fn survey(names: &Names, kernel: &mut impl Kernel, method: &Method) -> Result<Found, Failure> {
    let mut found = Found::default();
    let mut absent = BTreeSet::new();
    for (step, (mode, cipher)) in (1..).zip(candidates::algorithms(names)) {
        if method.interrupt.is_noted() {
            found.is_broken = true;
            break;
        }
        let algorithm = algorithm(&mode, &cipher);
        let specs = candidates::specs(&mode, &cipher, names);
        let mut asked = Asked {
            kernel,
            method,
            found: &mut found,
            absent: &mut absent,
            fitting: BTreeMap::new(),
        };
        if method.is_exhaustive || asked.is_possible(&specs, &algorithm)? {
            asked.all(&specs, &algorithm)?;
        }
        (method.progress)(step, &algorithm);
    }
    found.accepted.sort();
    Ok(found)
}

/// Questions about one mode over one cipher.
struct Asked<'a, K> {
    kernel: &'a mut K,
    method: &'a Method<'a>,
    found: &'a mut Found,
    /// Digests that the kernel does not have.
    absent: &'a mut BTreeSet<String>,
    /// Digests with which ESSIV can be made here, and those with which it cannot.
    fitting: BTreeMap<String, bool>,
}

impl<K: Kernel> Asked<'_, K> {
    /// Whether the kernel can make `algorithm`, which all of `specs` have.
    fn is_possible(&mut self, specs: &[Spec], algorithm: &str) -> Result<bool, Failure> {
        let Some(first) = specs.first() else {
            return Ok(false);
        };
        // Every mode takes this one, or has no IV.
        let spec = Spec {
            iv: Iv::plain("plain64"),
            ..first.clone()
        };
        Ok(self.accepts(&spec)? || self.kernel.has(algorithm))
    }

    fn all(&mut self, specs: &[Spec], algorithm: &str) -> Result<(), Failure> {
        for spec in specs {
            if self.method.interrupt.is_noted() {
                self.found.is_broken = true;
                return Ok(());
            }
            if !self.method.is_exhaustive && self.is_hopeless(spec) {
                continue;
            }
            if self.accepts(spec)? {
                self.found.accepted.push(spec.clone())
            } else {
                self.learn(spec, algorithm)
            }
        }
        Ok(())
    }

    fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
        self.found.asked += 1;
        self.kernel.accepts(spec)
    }

    /// Whether the digest of `spec` is known to be of no use.
    fn is_hopeless(&self, spec: &Spec) -> bool {
        let digest = spec.iv.digest.as_ref();
        digest.is_some_and(|digest| {
            self.absent.contains(digest) || self.fitting.get(digest) == Some(&false)
        })
    }

    /// Learns of the digest of `spec`, which was refused.
    fn learn(&mut self, spec: &Spec, algorithm: &str) {
        let Some(digest) = &spec.iv.digest else {
            return;
        };
        if self.fitting.contains_key(digest) {
            return;
        }
        let essiv = format!("essiv({algorithm},{digest})");
        let fits = self.kernel.has(&essiv);
        if !fits && !self.kernel.has(digest) {
            self.absent.insert(digest.clone());
        }
        self.fitting.insert(digest.clone(), fits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with AES and XTS, CBC and SHA-256, and what it was asked.
    #[derive(Default)]
    struct Small {
        asked: Vec<Spec>,
    }

    impl Kernel for Small {
        fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
            self.asked.push(spec.clone());
            let has_iv = match &spec.iv.digest {
                Some(digest) => digest == "sha256" && spec.mode == "cbc",
                None => spec.iv.name == "plain64",
            };
            let bits = match spec.mode.as_str() {
                "cbc" => 128..=256,
                "xts" => 256..=512,
                _ => return Ok(false),
            };
            Ok(spec.cipher == "aes" && has_iv && bits.contains(&spec.key_bits))
        }

        fn has(&mut self, name: &str) -> bool {
            [
                "cbc(aes)",
                "xts(aes)",
                "sha256",
                "md5",
                "essiv(cbc(aes),sha256)",
            ]
            .contains(&name)
        }
    }

    fn survey_of(is_exhaustive: bool) -> (Found, Small) {
        let mut kernel = Small::default();
        let interrupt = Interrupt::watch("nothing is found").expect("signals");
        let method = Method {
            is_exhaustive,
            interrupt: &interrupt,
            progress: &|_, _| {},
        };
        let found = survey(&Names::of("", ""), &mut kernel, &method).expect("answers");
        (found, kernel)
    }

    #[test]
    fn the_shortcut_finds_what_the_long_way_finds() {
        let (short, few) = survey_of(false);
        let (long, many) = survey_of(true);
        assert_eq!(short.accepted, long.accepted);
        let names: BTreeSet<String> = short.accepted.iter().map(Spec::name).collect();
        let expected = ["aes-cbc-essiv:sha256", "aes-cbc-plain64", "aes-xts-plain64"];
        assert_eq!(names, BTreeSet::from(expected.map(str::to_owned)));
        assert_eq!(
            (short.asked, long.asked),
            (few.asked.len(), many.asked.len())
        );
        assert!(few.asked.len() * 10 < many.asked.len());
    }

    #[test]
    fn what_cannot_be_is_asked_about_once() {
        let (_, kernel) = survey_of(false);
        let count =
            |is_it: &dyn Fn(&Spec) -> bool| kernel.asked.iter().filter(|it| is_it(it)).count();
        assert_eq!(count(&|spec| spec.algorithm() == "cbc(twofish)"), 1);
        let with =
            |digest: &'static str| move |spec: &Spec| spec.iv.digest.as_deref() == Some(digest);
        // Not there: once in all. There and not fitting: once for each algorithm.
        assert_eq!(count(&with("sha1")), 1);
        assert_eq!(count(&with("md5")), 2);
    }
}
