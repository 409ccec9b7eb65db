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
use crate::probe::Prober;
use crate::session::{Progress, Session, print_note};
use crate::spec::{Iv, Spec, algorithm};
use crate::{candidates, report};

/// Runs `squall dmcrypt list`.
pub fn list(options: &ListArguments) -> Result<(), Failure> {
    let reports = Reports::open(&options.reports, None)?;
    let interrupt = Interrupt::watch("the list has what was found so far")?;
    let session = Session::begin()?;
    let list = survey_kernel(&session, &interrupt)?;
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
pub fn survey_kernel(session: &Session, interrupt: &Interrupt) -> Result<List, Failure> {
    let mut kernel = Prober::new(&session.control)?;
    let steps = candidates::algorithms().len() as u64;
    let progress = Progress::begin(steps, "what this kernel accepts".into());
    let mut survey = Survey::new(&mut kernel, interrupt);
    survey.all(|done, what| progress.reach(done, what))?;
    let has_integrity = survey.kernel.has_integrity();
    if has_integrity {
        survey.authenticated()?;
    }
    drop(progress);
    let list = List {
        format: LIST_FORMAT,
        at: Timestamp::now(),
        machine: Machine::this(),
        tried: survey.asked,
        is_complete: !survey.is_interrupted,
        has_integrity,
        accepted: survey.accepted.into_iter().map(Entry::from_spec).collect(),
    };
    if let [first, ..] = &kernel.unclear[..] {
        print_note(&format!(
            "the kernel could not check {} of the specifications that are not listed: {first}: run \
             this again to check them",
            kernel.unclear.len()
        ));
    }
    Ok(list)
}

impl Kernel for Prober {
    fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
        Prober::accepts(self, spec)
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

/// The kernel that a survey asks; tests replace it.
trait Kernel {
    /// Whether the kernel accepts `spec`.
    fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure>;

    /// Whether /proc/crypto lists the algorithm `name` after something that needs it was tried; true
    /// if that cannot be seen.
    fn has(&mut self, name: &str) -> bool;
}

/// Questions to a kernel, and what it accepts.
struct Survey<'a, K> {
    kernel: &'a mut K,
    interrupt: &'a Interrupt,
    /// How many questions it was asked.
    asked: usize,
    /// Accepted specifications, sorted at the end.
    accepted: Vec<Spec>,
    is_interrupted: bool,
    /// Digests that the kernel does not have.
    absent: BTreeSet<String>,
}

impl<'a, K: Kernel> Survey<'a, K> {
    fn new(kernel: &'a mut K, interrupt: &'a Interrupt) -> Survey<'a, K> {
        Survey {
            kernel,
            interrupt,
            asked: 0,
            accepted: Vec::new(),
            is_interrupted: false,
            absent: BTreeSet::new(),
        }
    }

    /// Asks about every candidate without authentication. `progress` gets the number of modes over ciphers that were
    /// asked about, and the last one.
    fn all(&mut self, progress: impl Fn(u64, &str)) -> Result<(), Failure> {
        for (step, (mode, cipher)) in (1..).zip(candidates::algorithms()) {
            let algorithm = algorithm(mode, cipher);
            let specs = candidates::specs(mode, cipher);
            if !self.goes_on() {
                break;
            }
            if self.is_possible(&specs, &algorithm)? {
                self.each(&specs, &algorithm)?;
            }
            progress(step, &algorithm);
        }
        self.accepted.sort();
        Ok(())
    }

    /// Asks about authenticated ones too, made of what was accepted.
    fn authenticated(&mut self) -> Result<(), Failure> {
        for spec in candidates::authenticated(&self.accepted) {
            if self.goes_on() && self.accepts(&spec)? {
                self.accepted.push(spec);
            }
        }
        self.accepted.sort();
        Ok(())
    }

    fn goes_on(&mut self) -> bool {
        self.is_interrupted |= self.interrupt.is_noted();
        !self.is_interrupted
    }

    fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
        self.asked += 1;
        self.kernel.accepts(spec)
    }

    /// Whether the kernel can make `algorithm`, the mode and cipher of all `specs`.
    fn is_possible(&mut self, specs: &[Spec], algorithm: &str) -> Result<bool, Failure> {
        // Every mode accepts plain64 or has no IV.
        let spec = Spec {
            iv: Iv::plain("plain64"),
            ..specs[0].clone()
        };
        Ok(self.accepts(&spec)? || self.kernel.has(algorithm))
    }

    /// Asks about each of `specs`, unless an earlier answer rules out its digest.
    fn each(&mut self, specs: &[Spec], algorithm: &str) -> Result<(), Failure> {
        // For each digest that was refused, whether ESSIV can be made with it for this mode and cipher.
        let mut fitting: BTreeMap<&String, bool> = BTreeMap::new();
        for spec in specs {
            let digest = spec.iv.digest.as_ref();
            let is_absent = |it| self.absent.contains(it) || fitting.get(it) == Some(&false);
            if digest.is_some_and(is_absent) {
                continue;
            }
            if !self.goes_on() {
                return Ok(());
            }
            if self.accepts(spec)? {
                self.accepted.push(spec.clone());
            } else if let Some(digest) = digest.filter(|digest| !fitting.contains_key(digest)) {
                let fits = self.kernel.has(&format!("essiv({algorithm},{digest})"));
                if !fits && !self.kernel.has(digest) {
                    self.absent.insert(digest.clone());
                }
                fitting.insert(digest, fits);
            }
        }
        Ok(())
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

    impl SmallKernel {
        fn takes(spec: &Spec) -> bool {
            let has_iv = match &spec.iv.digest {
                Some(digest) => digest == "sha256" && spec.mode == "cbc",
                None => spec.iv.name == "plain64",
            };
            let bits = match spec.mode.as_str() {
                "cbc" => 128..=256,
                "xts" => 256..=512,
                _ => return false,
            };
            spec.cipher == "aes" && has_iv && bits.contains(&spec.key_bits)
        }
    }

    impl Kernel for SmallKernel {
        fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
            self.asked.push(spec.clone());
            Ok(SmallKernel::takes(spec))
        }

        fn has(&mut self, name: &str) -> bool {
            let all = [
                "cbc(aes)",
                "xts(aes)",
                "sha256",
                "md5",
                "essiv(cbc(aes),sha256)",
            ];
            all.contains(&name)
        }
    }

    /// All that is accepted is found, and what is known to be impossible is asked about once.
    #[test]
    fn few_questions_find_everything() {
        let mut kernel = SmallKernel::default();
        let interrupt = Interrupt::watch("nothing is found").expect("signals");
        let mut survey = Survey::new(&mut kernel, &interrupt);
        survey.all(|_, _| {}).expect("answers");
        let (found, asked) = (survey.accepted, survey.asked);
        let all = candidates::algorithms().into_iter();
        let all: Vec<Spec> = all
            .flat_map(|(mode, cipher)| candidates::specs(mode, cipher))
            .collect();
        let mut accepted: Vec<_> = all
            .iter()
            .filter(|it| SmallKernel::takes(it))
            .cloned()
            .collect();
        accepted.sort();
        assert_eq!(found, accepted);
        let names: BTreeSet<String> = found.iter().map(Spec::name).collect();
        let expected = ["aes-cbc-essiv:sha256", "aes-cbc-plain64", "aes-xts-plain64"];
        assert_eq!(names, BTreeSet::from(expected.map(str::to_owned)));
        assert!(asked == kernel.asked.len() && asked * 10 < all.len());

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
