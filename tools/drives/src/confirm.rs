//! Confirms that the user means the targets: by their names, by serial numbers on the command line,
//! or by what the user types.
//!
//! A name below /dev/disk/by-id is stable: it always means the same drive. /dev/sdb may be another
//! drive after the next boot. One question covers all targets with a stable name or serial number.
//! For every other target, the user types its serial number.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

use clap::Args;
use squall_tool_base::columns::paragraph;
use squall_tool_base::text::shell_word;
use squall_tool_base::units::volume;
use squall_tool_base::{Failure, output};

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

/// Fails if [`Checked::confirm`](crate::Checked::confirm) would refuse `targets` without asking, for the names or serial numbers that were given.
pub fn check(targets: &[Target], consent: &Consent) -> Result<(), Failure> {
    check_serials(targets, &consent.serial)?;
    let is_unnamed = |target: &&Target| !is_confirmed_by_name(target, &consent.serial);
    let unnamed: Vec<&Target> = targets.iter().filter(is_unnamed).collect();
    if !consent.yes || unnamed.is_empty() {
        return Ok(());
    }
    let names = unnamed.iter().map(|target| name_and_serial(target));
    let names: Vec<String> = names.collect();
    let serials = unnamed.iter().map(|target| target.identity.serial.as_ref());
    let options = serials.map(|serial| Some(format!(" --serial {}", shell_word(serial?))));
    let right = match options.collect::<Option<String>>() {
        Some(options) => format!(", or add{options}"),
        None => String::new(),
    };
    Err(Failure::Usage(format!(
        "--yes: these names may belong to other drives after the next boot: {}: nothing was \
         written: use names below /dev/disk/by-id{right}",
        names.join(", ")
    )))
}

/// A dialog with the user of this program.
pub(crate) fn on_terminal() -> Result<Dialog<io::Stderr>, Failure> {
    let answers = io::stdin();
    if !answers.is_terminal() {
        return Err(Failure::Runtime(format!(
            "cannot ask for confirmation, because standard input is not a terminal: nothing was \
             written: {SCRIPT_ADVICE}"
        )));
    }
    Dialog::new(&answers, io::stderr(), output::error_width())
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

fn name_and_serial(target: &Target) -> String {
    let name = shown(&target.identity.given);
    match &target.identity.serial {
        Some(serial) => format!("{name} (serial number {serial})"),
        None => format!("{name} (no serial number)"),
    }
}

fn cannot_ask(error: io::Error) -> Failure {
    let why = squall_tool_base::failure::cause(&error);
    Failure::Runtime(format!(
        "cannot ask for confirmation: {why}: nothing was written: {SCRIPT_ADVICE}"
    ))
}

pub(crate) struct Dialog<Q> {
    answers: BufReader<File>,
    questions: Q,
    width: Option<usize>,
}

impl<Q: Write> Dialog<Q> {
    /// A dialog that writes to `questions`, which may be so wide, and reads from `answers`.
    fn new(answers: &impl AsFd, questions: Q, width: Option<usize>) -> Result<Dialog<Q>, Failure> {
        let answers = answers.as_fd().try_clone_to_owned().map_err(cannot_ask)?;
        Ok(Dialog {
            answers: BufReader::new(File::from(answers)),
            questions,
            width,
        })
    }

    /// Fails unless the user confirms each of `targets` for `purpose`.
    pub fn confirm(
        &mut self,
        targets: &[Target],
        consent: &Consent,
        purpose: &Purpose,
    ) -> Result<(), Failure> {
        let is_named = |target: &&Target| is_confirmed_by_name(target, &consent.serial);
        let (named, unnamed): (Vec<_>, Vec<_>) = targets.iter().partition(is_named);
        if !named.is_empty() {
            self.confirm_together(&named, unnamed.is_empty(), purpose)?;
        }
        unnamed
            .iter()
            .try_for_each(|target| self.confirm_one(target))
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

    fn confirm_one(&mut self, target: &Target) -> Result<(), Failure> {
        let name = shown(&target.identity.given);
        let Some(serial) = &target.identity.serial else {
            return Err(Failure::Usage(format!(
                "{name}: it has no serial number to confirm: nothing was written: use its name \
                 below /dev/disk/by-id"
            )));
        };
        let question = format!(
            "{}\nEverything on it will be overwritten.\nType its serial number to overwrite it: ",
            describe(target)
        );
        self.ask(&question, serial)
    }

    /// Fails unless the user types `expected` as the answer to `question`.
    pub fn ask(&mut self, question: &str, expected: &str) -> Result<(), Failure> {
        match self.answer(question)? {
            Some(answer) if answer == expected.as_bytes() => Ok(()),
            answer => {
                let typed = answer.filter(|answer| !answer.is_empty());
                let typed = typed.map(|answer| String::from_utf8_lossy(&answer).into_owned());
                let typed = typed.map(|typed| format!(": {typed:?} is not {expected:?}"));
                Err(Failure::Runtime(format!(
                    "not confirmed{}: nothing was written; {SCRIPT_ADVICE}",
                    typed.unwrap_or_default()
                )))
            }
        }
    }

    /// The answer to `question`, which is typed behind its last line; `None` if the input ended within it.
    fn answer(&mut self, question: &str) -> Result<Option<Vec<u8>>, Failure> {
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

fn describe(target: &Target) -> String {
    let identity = &target.identity;
    let mut line = format!("{}:", shown(&identity.given));
    if identity.given != identity.path {
        line += &format!(" {},", shown(&identity.path));
    }
    if let Some(model) = &identity.model {
        line += &format!(" {model},");
    }
    if let Some(file) = target.backing_file() {
        line += &format!(" file {file},");
    }
    if let Some(serial) = &identity.serial {
        line += &format!(" serial number {serial},");
    }
    line + &format!(" {}", volume(identity.size))
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;
    use crate::Kind;
    use crate::target::tests::find;

    const MIB: u64 = 1 << 20;

    const WIPE: Purpose = Purpose {
        verb: "wipe",
        instead: |path| format!("see {}", path.display()),
    };

    /// A target that looks like a drive at /dev/sdb.
    fn drive(lab: &Lab, serial: Option<&str>) -> Target {
        let mut target = find(&lab.image("drive", MIB));
        target.has_stable_name = false;
        target.identity.given = "/dev/sdb".into();
        target.identity.path = "/dev/sdb".into();
        target.identity.kind = Kind::Disk;
        target.identity.model = Some("WDC WD40EFRX".into());
        target.identity.serial = serial.map(str::to_owned);
        target.identity.wwid = Some("naa.50014ee2b5d0a1f3".into());
        target
    }

    fn consent(yes: bool, serials: &[&str]) -> Consent {
        let serial = serials.iter().map(|&serial| serial.to_owned()).collect();
        Consent { yes, serial }
    }

    /// Confirms `targets`, to be wiped, with a user who types `answers`.
    fn asked(targets: &[Target], answers: &str) -> (String, Option<String>) {
        asked_with(targets, &Consent::default(), &WIPE, answers)
    }

    /// Returns what the user saw, and the failure.
    fn asked_with(
        targets: &[Target],
        consent: &Consent,
        purpose: &Purpose,
        answers: &str,
    ) -> (String, Option<String>) {
        let (ours, mut users) = io::pipe().unwrap();
        users.write_all(answers.as_bytes()).unwrap();
        drop(users);
        let mut seen = Vec::new();
        let mut dialog = Dialog::new(&ours, &mut seen, None).unwrap();
        let confirmed = dialog.confirm(targets, consent, purpose);
        let seen = String::from_utf8(seen).unwrap();
        (seen, confirmed.err().map(Failure::into_text))
    }

    /// The failure of targets that are refused without a question.
    fn refusal(targets: &[Target], consent: &Consent) -> String {
        check(targets, consent).expect_err("a refusal").into_text()
    }

    #[track_caller]
    fn contains(text: &str, words: &[&str]) {
        for word in words {
            assert!(text.contains(word), "{word:?} is not in: {text}");
        }
    }

    #[track_caller]
    fn not_confirmed((_, failure): (String, Option<String>)) {
        let text = failure.expect("no confirmation");
        let words = [
            "not confirmed",
            ": nothing was written",
            "--yes",
            "--serial",
        ];
        contains(&text, &words);
    }

    #[test]
    fn stable_names_are_confirmed_together_by_the_purpose() {
        let lab = Lab::new();
        let targets = [find(&lab.image("one", MIB)), find(&lab.image("two", MIB))];
        let (seen, failure) = asked(&targets, "wipe 2\n");
        assert_eq!(failure, None);
        let words = [
            "Everything on 2 targets",
            "2.10 MB in all",
            "Type \"wipe 2\"",
        ];
        contains(&seen, &words);
        // An answer that ends without a line is none.
        for wrong in ["wipe 1\n", "wipe\n", "yes\n", "y\n", "\n", "wipe 2", ""] {
            not_confirmed(asked(&targets, wrong));
        }
        assert_eq!(asked(&targets[..1], " wipe 1\n").1, None);
        let other = Purpose {
            verb: "measure",
            ..WIPE
        };
        let (seen, failure) = asked_with(&targets[..1], &Consent::default(), &other, "measure 1\n");
        assert_eq!(failure, None);
        contains(&seen, &["Type \"measure 1\""]);
        not_confirmed(asked_with(
            &targets[..1],
            &Consent::default(),
            &other,
            "wipe 1\n",
        ));
    }

    #[test]
    fn other_targets_are_confirmed_by_serial_number() {
        let lab = Lab::new();
        let sdb = drive(&lab, Some("WD-WX12 \u{fc}"));
        let mut sdc = drive(&lab, Some("diskseq-9"));
        sdc.identity.given = "/dev/sdc\x1b[2J".into();
        let file = find(&lab.image("file", MIB));
        let targets = [sdb, file, sdc];
        let right = "wipe 1\nWD-WX12 \u{fc}\ndiskseq-9\n";
        let (seen, failure) = asked(&targets, right);
        assert_eq!(failure, None);
        let words = [
            "/file: 1.05 MB",
            "Everything on 1 target will",
            "/dev/sdb: WDC WD40EFRX, serial",
            "/dev/sdc\\u{1b}[2J: /dev/sdb, WDC",
            "serial number diskseq-9",
        ];
        contains(&seen, &words);
        for wrong in [
            "wipe 3\n",
            "wipe 1\nWD-WX12\n",
            "wipe 1\n\n",
            "wipe 1\n",
            "wipe 1\nWD-WX12 \u{fc}\nwipe 1\n",
        ] {
            not_confirmed(asked(&targets, wrong));
        }
        // What was typed, and what the drive has. There is room to type it on 80 columns.
        let (seen, failure) = asked(&targets[..1], "WD-WX1Z\n");
        let words = "not confirmed: \"WD-WX1Z\" is not \"WD-WX12 \u{fc}\": nothing was written";
        contains(&failure.expect("no confirmation"), &[words]);
        let last = seen.lines().last().expect("a question");
        assert!(last.len() <= 80 - 32, "{last}");
        let (_, failure) = asked(&[drive(&lab, None)], "");
        let words = ["/dev/sdb: it has no serial number"];
        contains(&failure.expect("no confirmation"), &words);
    }

    #[test]
    fn serial_numbers_that_were_given_count_as_names() {
        let lab = Lab::new();
        let targets = [drive(&lab, Some("WD-1")), find(&lab.image("file", MIB))];
        for serial in ["WD-1", " WD-1 ", "naa.50014ee2b5d0a1f3"] {
            let given = consent(false, &[serial]);
            let (seen, failure) = asked_with(&targets, &given, &WIPE, "wipe 2\n");
            assert_eq!(failure, None);
            contains(&seen, &["Type \"wipe 2\""]);
            check(&targets, &consent(true, &[serial])).unwrap();
        }
        for yes in [false, true] {
            let words = [
                "--serial WD-2: no target has this serial number: nothing was written",
                "/dev/sdb (serial number WD-1)",
                "file (no serial number)",
            ];
            contains(&refusal(&targets, &consent(yes, &["WD-1", "WD-2"])), &words);
        }
    }

    #[test]
    fn yes_takes_names_that_stay() {
        let lab = Lab::new();
        let file = find(&lab.image("file", MIB));
        let mut stable = drive(&lab, Some("WD-1"));
        stable.has_stable_name = true;
        let yes = consent(true, &[]);
        check(&[file.clone(), stable], &yes).unwrap();
        let words = [
            "/dev/sdb (serial number it's 1): nothing was written",
            "use names below /dev/disk/by-id, or add --serial 'it'\\''s 1'",
        ];
        contains(&refusal(&[file, drive(&lab, Some("it's 1"))], &yes), &words);
    }
}
