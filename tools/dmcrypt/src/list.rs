//! `squall dmcrypt list`: which specifications this kernel accepts, and which of them are secure.
//!
//! The kernel is asked about every candidate, by loading a table with it. A mode over a cipher that it cannot make is asked
//! about only once. The same holds for a digest that the kernel does not have, and for ESSIV with a digest
//! that does not fit. The kernel searches for modules at each such question, every time anew, which
//! takes much longer than an answer. An algorithm that the kernel can make is listed in /proc/crypto
//! after the first question, even if that question was refused because of its key length.
//!
//! The table stands on a device that refuses all transfers (target `error`), so no storage is needed. It
//! never comes into use, so no byte is encrypted. Authenticated ones need a device of dm-integrity below,
//! which stands on zeros (target `zero`, which forgets what is written).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::rc::Rc;

use jiff::Timestamp;
use rustix::io::Errno;
use squall_drives::Number;
use squall_tool_base::failure::cause;
use squall_tool_base::reports::Reports;
use squall_tool_base::{Failure, Interrupt, output};

use crate::args::ListArguments;
use crate::mapper::{Control, Mapped, Table};
use crate::model::{CpuAndKernel, Entry, LIST_FORMAT, List, Options};
use crate::session::{Progress, Session, print_note};
use crate::spec::{Iv, MOST_KEY_BITS, Spec, algorithm};
use crate::tables::{self, Key, Layout};
use crate::{candidates, report};

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

pub fn survey_kernel(session: &Session, interrupt: &Interrupt) -> Result<List, Failure> {
    let mut survey = Survey {
        kernel: Prober::new(&session.control)?,
        interrupt,
        asked: 0,
        accepted: Vec::new(),
        is_interrupted: false,
        absent: BTreeSet::new(),
    };
    survey.all()?;
    let has_integrity = survey.kernel.has_integrity();
    if has_integrity {
        survey.authenticated()?;
    }
    survey.accepted.sort();
    let list = List {
        format: LIST_FORMAT,
        at: Timestamp::now(),
        machine: CpuAndKernel::this(),
        tried: survey.asked,
        is_complete: !survey.is_interrupted,
        has_integrity,
        accepted: survey.accepted.into_iter().map(Entry::from_spec).collect(),
    };
    let unclear = &survey.kernel.unclear;
    if let Some(first) = unclear.first() {
        print_note(&format!(
            "the kernel could not check {} of the specifications that are not listed: {first}: run \
             this again to check them",
            unclear.len()
        ));
    }
    Ok(list)
}

/// Whether /proc/crypto lists the algorithm `name` after something that needs it was tried; true if that cannot be seen.
fn has(name: &str) -> bool {
    fs::read_to_string("/proc/crypto").map_or(true, |crypto| lists(&crypto, name))
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

/// Questions to the kernel, and what it accepts.
struct Survey<'a> {
    kernel: Prober,
    interrupt: &'a Interrupt,
    /// How many questions it was asked.
    asked: usize,
    accepted: Vec<Spec>,
    is_interrupted: bool,
    /// Digests that the kernel does not have.
    absent: BTreeSet<String>,
}

impl Survey<'_> {
    /// Asks about every candidate without authentication.
    fn all(&mut self) -> Result<(), Failure> {
        let algorithms = candidates::algorithms();
        let progress = Progress::begin(algorithms.len() as u64, "what this kernel accepts".into());
        for (step, (mode, cipher)) in (1..).zip(algorithms) {
            let algorithm = algorithm(mode, cipher);
            let specs = candidates::specs(mode, cipher);
            if !self.goes_on() {
                break;
            }
            if self.is_possible(&specs, &algorithm)? {
                self.each(&specs, &algorithm)?;
            }
            progress.reach(step, &algorithm);
        }
        Ok(())
    }

    /// Asks about authenticated ones too, made of what was accepted.
    fn authenticated(&mut self) -> Result<(), Failure> {
        for spec in candidates::authenticated(&self.accepted) {
            if self.goes_on() && self.accepts(&spec)? {
                self.accepted.push(spec);
            }
        }
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
        Ok(self.accepts(&spec)? || has(algorithm))
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
                let fits = has(&format!("essiv({algorithm},{digest})"));
                if !fits && !has(digest) {
                    self.absent.insert(digest.clone());
                }
                fitting.insert(digest, fits);
            }
        }
        Ok(())
    }
}

/// Length of the devices, in sectors of 512 bytes.
const SECTORS: u64 = 2048;

/// Length of zeros that dm-integrity has place in for [`SECTORS`] with any metadata.
const ZEROS: u64 = 32_768;

/// The longest key in bytes, with that of an HMAC.
const KEY_LEN: usize = MOST_KEY_BITS as usize / 8 + 64;

/// The target that reads as zeros.
const ZERO: &str = "zero";

/// The devices that questions are asked with.
pub struct Prober {
    probe: Mapped,
    /// Devices of dm-integrity by the bytes of metadata that they keep for each sector.
    tagged: BTreeMap<usize, Tagged>,
    base: Mapped,
    key: Key,
    control: Rc<Control>,
    /// Questions that the kernel answered with neither yes nor no.
    unclear: Vec<String>,
}

/// A device of dm-integrity over zeros.
struct Tagged {
    device: Mapped,
    /// Removed after what stands on it.
    _zeros: Mapped,
}

impl Tagged {
    fn make(control: &Rc<Control>, metadata_len: usize) -> Result<Tagged, Failure> {
        let zeros = Table::new(ZERO, ZEROS, String::new());
        let zeros = Mapped::start(control, &format!("zeros-{metadata_len}"), &zeros)?;
        let layout = Layout {
            below: zeros.number(),
            metadata_len,
            sector_size: 512,
            journal: false,
        };
        let label = format!("tags-{metadata_len}");
        Ok(Tagged {
            device: Mapped::start(control, &label, &layout.table(SECTORS))?,
            _zeros: zeros,
        })
    }
}

impl Prober {
    /// Makes the devices.
    pub fn new(control: &Rc<Control>) -> Result<Prober, Failure> {
        let nothing = Table::refusing(SECTORS);
        let base = Mapped::start(control, "base", &nothing)?;
        Ok(Prober {
            probe: Mapped::create(control, "probe", &nothing)?,
            tagged: BTreeMap::new(),
            base,
            key: Key::draw(KEY_LEN),
            control: control.clone(),
            unclear: Vec::new(),
        })
    }

    /// Whether the kernel has what questions about authenticated specifications take.
    pub fn has_integrity(&self) -> bool {
        let mut targets = [tables::INTEGRITY, ZERO].into_iter();
        targets.all(|target| self.control.has(target).is_ok())
    }

    /// Whether the kernel accepts `spec`.
    pub fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
        let below = self.below(spec)?;
        let table = tables::table(spec, Options::PLAIN, &self.key, below, SECTORS);
        match self.probe.load(&table) {
            Ok(()) => Ok(true),
            // NOKEY: the digest needs a key of its own, which ESSIV does not give it.
            Err(Errno::INVAL | Errno::NOENT | Errno::LIBBAD | Errno::NOKEY) => Ok(false),
            // These errors have nothing to do with the specification.
            Err(error @ (Errno::NOMEM | Errno::PERM | Errno::NXIO | Errno::BUSY)) => {
                Err(Failure::Runtime(unclear(spec, error)))
            }
            Err(error) => {
                self.unclear.push(unclear(spec, error));
                Ok(false)
            }
        }
    }

    /// The device that a table of `spec` stands on.
    fn below(&mut self, spec: &Spec) -> Result<Number, Failure> {
        let metadata_len = spec.metadata_len();
        if metadata_len == 0 {
            return Ok(self.base.number());
        }
        if !self.tagged.contains_key(&metadata_len) {
            let tagged = Tagged::make(&self.control, metadata_len)?;
            self.tagged.insert(metadata_len, tagged);
        }
        Ok(self.tagged[&metadata_len].device.number())
    }
}

/// The message for an answer that is neither yes nor no.
fn unclear(spec: &Spec, error: Errno) -> String {
    format!(
        "{spec}: the kernel could not check it: {}",
        cause(&error.into())
    )
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
}
