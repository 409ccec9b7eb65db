//! `squall dmcrypt list`: which specifications this kernel accepts, and which of them are secure.

use std::fs;

use jiff::Timestamp;
use squall_tools::reports::Reports;
use squall_tools::{Failure, Interrupt, output};

use crate::args::ListArguments;
use crate::model::{Entry, LIST_FORMAT, List, Machine};
use crate::names::Names;
use crate::probe::{Prober, unclear};
use crate::report;
use crate::session::Progress;
use crate::session::{Session, print_note};
use crate::spec::Spec;
use crate::survey::{Found, Kernel, Method, steps, survey, survey_authenticated};

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
