//! Confirms that the user means the targets: by their names, by serial numbers on the command line,
//! or by what the user types.
//!
//! A name below /dev/disk/by-id is stable: it always means the same drive. /dev/sdb may be another
//! drive after the next boot. One question covers all targets with a stable name or serial number.
//! For every other target, the user types its serial number.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

use clap::Args;
use squall_tools::columns::paragraph;
use squall_tools::units::volume;
use squall_tools::{Failure, output};

use crate::{Target, shown};

/// Why targets are overwritten, for the messages that depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// The word that the user types before the number of targets to confirm: `wipe` in "wipe 2".
    pub verb: &'static str,
    /// Advice for the drive at this path, whose zones cannot be overwritten in place.
    pub instead: fn(&Path) -> String,
}

/// Options with which a user confirms targets in advance.
#[derive(Args, Clone, Debug, Default)]
pub struct Consent {
    /// Do not ask; every target must have a stable name, or be confirmed with --serial
    ///
    /// Stable names are those below /dev/disk/by-id and by-diskseq, and those of files.
    #[arg(long)]
    pub yes: bool,

    /// Confirm the target with this serial number, as squall shows it; may be given more than once
    #[arg(long, value_name = "SERIAL")]
    pub serial: Vec<String>,
}

/// Advice for scripts, which cannot answer questions.
const SCRIPT_ADVICE: &str = "in scripts use --yes with names below /dev/disk/by-id or --serial";

/// Fails if [`confirm`] would refuse `targets` without asking, for the names or serial numbers that were given.
pub fn check(targets: &[Target], consent: &Consent) -> Result<(), Failure> {
    check_serials(targets, &consent.serial)?;
    if consent.yes {
        let is_unnamed = |target: &&Target| !is_confirmed_by_name(target, &consent.serial);
        let unnamed: Vec<&Target> = targets.iter().filter(is_unnamed).collect();
        check_all_confirmed_by_name(&unnamed)?;
    }
    Ok(())
}

/// Fails unless the user confirms each of `targets` for `purpose`.
pub fn confirm(targets: &[Target], consent: &Consent, purpose: &Purpose) -> Result<(), Failure> {
    let width = output::error_width();
    confirm_on(&io::stdin(), io::stderr(), width, targets, consent, purpose)
}

/// Fails unless the user types `expected` as the answer to `question`.
pub fn by_phrase(question: &str, expected: &str) -> Result<(), Failure> {
    let answers = io::stdin();
    if !answers.is_terminal() {
        return Err(cannot_ask_without_a_terminal());
    }
    Dialog::new(&answers, io::stderr(), output::error_width())?.ask(question, expected)
}

/// Like [`confirm`], with questions to `questions`, which may be so wide, and answers from `answers`.
fn confirm_on(
    answers: &(impl AsFd + IsTerminal),
    questions: impl Write,
    width: Option<usize>,
    targets: &[Target],
    consent: &Consent,
    purpose: &Purpose,
) -> Result<(), Failure> {
    check(targets, consent)?;
    if consent.yes {
        return Ok(());
    }
    let (named, unnamed): (Vec<&Target>, Vec<&Target>) = targets
        .iter()
        .partition(|target| is_confirmed_by_name(target, &consent.serial));
    if !answers.is_terminal() {
        return Err(cannot_ask_without_a_terminal());
    }
    let mut dialog = Dialog::new(answers, questions, width)?;
    if !named.is_empty() {
        dialog.confirm_together(&named, unnamed.is_empty(), purpose)?;
    }
    unnamed
        .iter()
        .try_for_each(|target| dialog.confirm_one(target))
}

/// Fails unless each of `serials` belongs to a target, so that typing errors are caught.
fn check_serials(targets: &[Target], serials: &[String]) -> Result<(), Failure> {
    let is_nobodys = |serial: &&String| !targets.iter().any(|target| target.has_serial(serial));
    let Some(serial) = serials.iter().find(is_nobodys) else {
        return Ok(());
    };
    let known: Vec<String> = targets.iter().map(name_and_serial).collect();
    Err(Failure::Usage(format!(
        "--serial {serial}: no target has this serial number: nothing was written: the targets are \
         {}",
        known.join(", ")
    )))
}

/// Whether `target` was given by a stable name or by its serial number.
fn is_confirmed_by_name(target: &Target, serials: &[String]) -> bool {
    target.has_stable_name || serials.iter().any(|serial| target.has_serial(serial))
}

/// Fails if there are `unnamed` targets, whose names may change and which --yes does not accept.
fn check_all_confirmed_by_name(unnamed: &[&Target]) -> Result<(), Failure> {
    if unnamed.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = unnamed
        .iter()
        .map(|target| name_and_serial(target))
        .collect();
    let options: Vec<String> = unnamed
        .iter()
        .filter_map(|target| {
            Some(format!(
                "--serial {}",
                quoted(target.identity.serial.as_ref()?)
            ))
        })
        .collect();
    let right = if options.len() == unnamed.len() {
        format!(
            "use names below /dev/disk/by-id, or add {}",
            options.join(" ")
        )
    } else {
        "use names below /dev/disk/by-id".into()
    };
    Err(Failure::Usage(format!(
        "--yes: these names may belong to other drives after the next boot: {}: nothing was \
         written: {right}",
        names.join(", ")
    )))
}

/// `serial`, quoted for a shell where that is needed.
fn quoted(serial: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if serial.chars().all(is_plain) {
        serial.into()
    } else {
        format!("'{}'", serial.replace('\'', r"'\''"))
    }
}

fn name_and_serial(target: &Target) -> String {
    let name = shown(&target.identity.given);
    match &target.identity.serial {
        Some(serial) => format!("{name} (serial number {serial})"),
        None => format!("{name} (no serial number)"),
    }
}

fn cannot_ask_without_a_terminal() -> Failure {
    Failure::Runtime(format!(
        "cannot ask for confirmation, because standard input is not a terminal: nothing was \
         written: {SCRIPT_ADVICE}"
    ))
}

fn cannot_ask(error: io::Error) -> Failure {
    let why = squall_tools::failure::cause(&error);
    Failure::Runtime(format!(
        "cannot ask for confirmation: {why}: nothing was written: {SCRIPT_ADVICE}"
    ))
}

pub struct Dialog<Q> {
    answers: BufReader<File>,
    questions: Q,
    width: Option<usize>,
}

impl<Q: Write> Dialog<Q> {
    /// A dialog that writes to `questions`, which may be so wide, and reads from `answers`.
    pub fn new(
        answers: &impl AsFd,
        questions: Q,
        width: Option<usize>,
    ) -> Result<Dialog<Q>, Failure> {
        let answers = answers.as_fd().try_clone_to_owned().map_err(cannot_ask)?;
        Ok(Dialog {
            answers: BufReader::new(File::from(answers)),
            questions,
            width,
        })
    }

    /// Asks one question for all of `targets`. `are_all` says that there are no others.
    fn confirm_together(
        &mut self,
        targets: &[&Target],
        are_all: bool,
        purpose: &Purpose,
    ) -> Result<(), Failure> {
        let count = targets.len();
        let size = targets.iter().map(|target| target.identity.size).sum();
        let mut question = String::new();
        if !are_all {
            for target in targets {
                question += &format!("{}\n", describe(target));
            }
        }
        let (what, their) = match count {
            1 => ("1 target".to_owned(), "it"),
            _ => (format!("{count} targets"), "them"),
        };
        let expected = format!("{} {count}", purpose.verb);
        question += &format!(
            "Everything on {what} will be overwritten, {} in all.\n\
             Type \"{expected}\" to overwrite {their}: ",
            volume(size)
        );
        self.ask(&question, &expected)
    }

    /// Asks for the serial number of `target`.
    fn confirm_one(&mut self, target: &Target) -> Result<(), Failure> {
        let name = shown(&target.identity.given);
        let Some(serial) = &target.identity.serial else {
            return Err(Failure::Usage(format!(
                "{name}: it has no serial number to confirm: nothing was written: use its name \
                 below /dev/disk/by-id"
            )));
        };
        let question = format!(
            "{}\nEverything on it will be overwritten. Type its serial number to overwrite it: ",
            describe(target)
        );
        self.ask(&question, serial)
    }

    fn ask(&mut self, question: &str, expected: &str) -> Result<(), Failure> {
        if self.answer(question)?.as_deref() == Some(expected.as_bytes()) {
            Ok(())
        } else {
            Err(not_confirmed())
        }
    }

    /// The answer to `question`, which is typed behind its last line; `None` if the input ended within it.
    pub fn answer(&mut self, question: &str) -> Result<Option<Vec<u8>>, Failure> {
        let lines = question.lines().map(|line| paragraph(line, self.width));
        let question = lines.collect::<String>();
        let asked = self
            .questions
            .write_all(format!("{} ", question.trim_end()).as_bytes())
            .and_then(|()| self.questions.flush());
        asked.map_err(cannot_ask)?;
        let mut answer = Vec::new();
        self.answers
            .read_until(b'\n', &mut answer)
            .map_err(cannot_ask)?;
        let whole = answer.strip_suffix(b"\n").map(<[u8]>::trim_ascii);
        Ok(whole.map(<[u8]>::to_vec))
    }
}

/// The failure after an unexpected answer.
pub fn not_confirmed() -> Failure {
    Failure::Runtime(format!(
        "not confirmed: nothing was written; {SCRIPT_ADVICE}"
    ))
}

pub fn describe(target: &Target) -> String {
    let identity = &target.identity;
    let mut line = format!("{}:", shown(&identity.given));
    if identity.given != identity.path {
        line += &format!(" {},", shown(&identity.path));
    }
    if let Some(model) = &identity.model {
        line += &format!(" {model},");
    }
    if let Some(serial) = &identity.serial {
        line += &format!(" serial number {serial},");
    }
    line + &format!(" {}", volume(identity.size))
}
