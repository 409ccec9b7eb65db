//! `squall dmcrypt list`: which specifications this kernel accepts, and which of them are secure.
//!
//! The kernel is asked about every candidate. A mode over a cipher that it cannot make is asked about
//! only once. The same holds for a digest that the kernel does not have, and for ESSIV with a digest
//! that does not fit. The kernel searches for modules at each such question, every time anew, which
//! takes much longer than an answer. An algorithm that the kernel can make is listed in /proc/crypto
//! after the first question, even if that question was refused because of its key length.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use jiff::Timestamp;
use squall_tools::reports::Reports;
use squall_tools::{Failure, Interrupt, output};

use crate::args::ListArguments;
use crate::model::{Entry, LIST_FORMAT, List, Machine};
use crate::names::Names;
use crate::probe::{Prober, unclear};
use crate::session::{Progress, Session, print_note};
use crate::spec::{Iv, Spec, algorithm};
use crate::{candidates, report};

/// Runs `squall dmcrypt list`.
pub fn list(options: &ListArguments) -> Result<(), Failure> {
    let reports = Reports::open(&options.reports, None)?;
    let interrupt = Interrupt::watch("the list has what was found so far")?;
    let session = Session::begin()?;
    let list = survey_kernel(&session, options.exhaustive, &interrupt)?;
    let document = report::list::document(&list);
    let page = || document.page();
    let text = || document.text(output::width());
    reports.give(&list, || report::list::lines(&list), page, text)?;
    if list.is_complete {
        Ok(())
    } else {
        interrupt.check()
    }
}

/// Surveys this kernel.
pub fn survey_kernel(
    session: &Session,
    is_exhaustive: bool,
    interrupt: &Interrupt,
) -> Result<List, Failure> {
    let names = Names::collect();
    let mut kernel = Linux {
        prober: Prober::new(&session.control)?,
        unclear: Vec::new(),
    };
    let progress = Progress::begin(steps(&names), "what this kernel accepts".into());
    let mut found = survey(
        &names,
        &mut kernel,
        &Method {
            is_exhaustive,
            interrupt,
            progress: &|done, what| progress.reach(done, what),
        },
    )?;
    let has_integrity = kernel.prober.has_integrity();
    if has_integrity {
        survey_authenticated(&mut found, &mut kernel, interrupt)?;
    }
    drop(progress);
    kernel.report_unclear();
    Ok(to_list(found, has_integrity))
}

/// The running kernel.
struct Linux {
    prober: Prober,
    /// Questions that the kernel answered with neither yes nor no.
    unclear: Vec<String>,
}

impl Linux {
    fn report_unclear(&self) {
        if let Some(first) = self.unclear.first() {
            let count = self.unclear.len();
            print_note(&format!(
                "the kernel could not check {count} of the specifications that are not listed: \
                 {first}: run this again to check them"
            ));
        }
    }
}

impl Kernel for Linux {
    fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
        let answer = self.prober.accepts(spec)?;
        Ok(answer.unwrap_or_else(|error| {
            self.unclear.push(unclear(spec, error));
            false
        }))
    }

    fn has(&mut self, name: &str) -> bool {
        let Ok(crypto) = fs::read_to_string("/proc/crypto") else {
            return true;
        };
        lists(&crypto, name)
    }
}

/// Whether `crypto`, the text of /proc/crypto, lists the algorithm `name`. The text has thousands of lines, and a survey
/// reads it thousands of times, so this looks only at lines that contain the name.
fn lists(crypto: &str, name: &str) -> bool {
    crypto.match_indices(name).any(|(at, _)| {
        let begin = crypto[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = crypto[begin..].lines().next().unwrap_or_default();
        let field = line.split_once(':');
        field.is_some_and(|(key, value)| key.trim() == "name" && value.trim() == name)
    })
}

fn to_list(found: Found, has_integrity: bool) -> List {
    List {
        format: LIST_FORMAT,
        at: Timestamp::now(),
        machine: Machine::this(),
        tried: found.asked,
        is_complete: !found.is_interrupted,
        has_integrity,
        accepted: found.accepted.into_iter().map(Entry::from_spec).collect(),
    }
}

/// The kernel that a survey asks; tests replace it.
pub trait Kernel {
    /// Whether the kernel accepts `spec`.
    fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure>;

    /// Whether /proc/crypto lists the algorithm `name` after something that needs it was tried; true
    /// if that cannot be seen.
    fn has(&mut self, name: &str) -> bool;
}

/// Options of a survey.
pub struct Method<'a> {
    /// Whether candidates are tried even if they are known to be impossible.
    pub is_exhaustive: bool,
    /// Ends the survey early when the user interrupts it.
    pub interrupt: &'a Interrupt,
    /// Called with the number of finished [`steps`] and the last mode and cipher.
    pub progress: &'a dyn Fn(u64, &str),
}

/// The result of a survey.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many questions the kernel was asked.
    pub asked: usize,
    /// Accepted specifications, sorted.
    pub accepted: Vec<Spec>,
    /// Whether the survey was interrupted.
    pub is_interrupted: bool,
}

/// The number of steps of a survey: one for each mode over each cipher.
pub fn steps(names: &Names) -> u64 {
    candidates::algorithms(names).len() as u64
}

/// Asks `kernel` about every specification that can be made of `names`.
pub fn survey(names: &Names, kernel: &mut impl Kernel, method: &Method) -> Result<Found, Failure> {
    let mut found = Found::default();
    let mut absent = BTreeSet::new();
    for (step, (mode, cipher)) in (1..).zip(candidates::algorithms(names)) {
        if method.interrupt.is_noted() {
            found.is_interrupted = true;
            break;
        }
        let algorithm = algorithm(&mode, &cipher);
        let specs = candidates::specs(&mode, &cipher, names);
        let mut asked = AlgorithmSurvey {
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

/// Asks about authenticated specifications too, made of what was accepted.
pub fn survey_authenticated(
    found: &mut Found,
    kernel: &mut impl Kernel,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    for spec in candidates::authenticated(&found.accepted) {
        if interrupt.is_noted() {
            found.is_interrupted = true;
            break;
        }
        found.asked += 1;
        if kernel.accepts(&spec)? {
            found.accepted.push(spec);
        }
    }
    found.accepted.sort();
    Ok(())
}

/// The questions about one mode over one cipher.
struct AlgorithmSurvey<'a, K> {
    kernel: &'a mut K,
    method: &'a Method<'a>,
    found: &'a mut Found,
    /// Digests that the kernel does not have.
    absent: &'a mut BTreeSet<String>,
    /// For each digest, whether ESSIV can be made with it for this mode and cipher.
    fitting: BTreeMap<String, bool>,
}

impl<K: Kernel> AlgorithmSurvey<'_, K> {
    /// Whether the kernel can make `algorithm`, the mode and cipher of all `specs`.
    fn is_possible(&mut self, specs: &[Spec], algorithm: &str) -> Result<bool, Failure> {
        let Some(first) = specs.first() else {
            return Ok(false);
        };
        // Every mode accepts plain64 or has no IV.
        let spec = Spec {
            iv: Iv::plain("plain64"),
            ..first.clone()
        };
        Ok(self.accepts(&spec)? || self.kernel.has(algorithm))
    }

    fn all(&mut self, specs: &[Spec], algorithm: &str) -> Result<(), Failure> {
        for spec in specs {
            if self.method.interrupt.is_noted() {
                self.found.is_interrupted = true;
                return Ok(());
            }
            if !self.method.is_exhaustive && self.is_ruled_out(spec) {
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

    /// Whether an earlier answer already rules out the digest of `spec`.
    fn is_ruled_out(&self, spec: &Spec) -> bool {
        let digest = spec.iv.digest.as_ref();
        digest.is_some_and(|digest| {
            self.absent.contains(digest) || self.fitting.get(digest) == Some(&false)
        })
    }

    /// Remembers what the refusal of `spec` says about its digest.
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

    #[test]
    fn an_algorithm_is_listed_by_its_whole_name() {
        let crypto = "name         : cbc(aes)\ndriver       : xts(aes)\n\nname         : sha256\n";
        for name in ["cbc(aes)", "sha256"] {
            assert!(lists(crypto, name), "{name}");
        }
        for name in ["xts(aes)", "aes", "sha", "256", "sha2567", "name", ""] {
            assert!(!lists(crypto, name), "{name}");
        }
    }

    /// A kernel with AES, XTS, CBC and SHA-256, which records what it is asked.
    #[derive(Default)]
    struct SmallKernel {
        asked: Vec<Spec>,
    }

    impl Kernel for SmallKernel {
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

    fn survey_of(is_exhaustive: bool) -> (Found, SmallKernel) {
        let mut kernel = SmallKernel::default();
        let interrupt = Interrupt::watch("nothing is found").expect("signals");
        let method = Method {
            is_exhaustive,
            interrupt: &interrupt,
            progress: &|_, _| {},
        };
        let found = survey(&Names::from_texts("", ""), &mut kernel, &method).expect("answers");
        (found, kernel)
    }

    #[test]
    fn the_shortcut_finds_the_same_specifications() {
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
    fn impossible_algorithms_are_asked_about_once() {
        let (_, kernel) = survey_of(false);
        let count =
            |is_it: &dyn Fn(&Spec) -> bool| kernel.asked.iter().filter(|it| is_it(it)).count();
        assert_eq!(count(&|spec| spec.algorithm() == "cbc(twofish)"), 1);
        let with =
            |digest: &'static str| move |spec: &Spec| spec.iv.digest.as_deref() == Some(digest);
        // sha1 is absent: one question in all. md5 exists but does not fit: one for each algorithm.
        assert_eq!(count(&with("sha1")), 1);
        assert_eq!(count(&with("md5")), 2);
    }
}
