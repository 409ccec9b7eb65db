//! The verdict on a drive: a mark, a word, and a sentence.

use maud::{Markup, html};

use squall_drives::{Hidden, Kind};

use crate::record::{Drive, Job, Level, Outcome, Scope};
use crate::text;

/// How good an outcome is.
pub enum Grade {
    Good,
    Doubtful,
    Bad,
}

/// The outcome in a word or a few.
pub fn word(drive: &Drive) -> String {
    match &drive.outcome {
        None => "Under way".into(),
        Some(Outcome::Overwritten) => "Overwritten, not verified".into(),
        Some(outcome) => capitalized(outcome.word()),
    }
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// The mark, the word and the sentence.
pub fn section(job: &Job, drive: &Drive) -> Markup {
    let sentences = html! {
        p { (sentence(job, drive)) }
        @if drive.wipe.is_none() { p.level { (level(drive)) } }
    };
    framed(&grade(drive), &word(drive), &sentences)
}

/// A verdict in its frame.
pub fn framed(grade: &Grade, word: &str, sentences: &Markup) -> Markup {
    let (class, mark) = match grade {
        Grade::Good => ("verdict good", "✓"),
        Grade::Doubtful => ("verdict doubtful", "!"),
        Grade::Bad => ("verdict bad", "✗"),
    };
    html! {
        div class=(class) {
            span.mark aria-hidden="true" { (mark) }
            div {
                p.word { (word) }
                (sentences)
            }
        }
    }
}

/// The level of sanitization that was reached, and what that means.
fn level(drive: &Drive) -> Markup {
    let hidden = drive.hidden.and_then(Hidden::text);
    let means = match (drive.level, drive.target.kind, hidden) {
        (Some(Level::Clear), ..) => {
            "every place that the host can address was overwritten, and everything that was read \
             back matched."
                .into()
        }
        (Some(Level::Purge), ..) => "the drive also sanitized itself, as it reports.".into(),
        (None, Kind::Disk, Some(hidden)) => {
            format!("it hides {hidden}, which was not overwritten.")
        }
        (None, Kind::Disk, None) => "it was not completely overwritten and verified.".into(),
        (None, ..) => "levels are for whole drives.".to_owned(),
    };
    let name = drive.level.map_or("none", Level::name);
    html! {
        "Level of NIST SP 800-88 Rev. 2: " strong { (name) } "; " (means)
        @if drive.level.is_some() {
            " Whether that suffices for what it held (validation) is for its owner to decide."
        }
    }
}

pub fn grade(drive: &Drive) -> Grade {
    match drive.outcome {
        Some(Outcome::Verified) if drive.hides_something() => Grade::Doubtful,
        Some(Outcome::Verified) => Grade::Good,
        None | Some(Outcome::Overwritten | Outcome::Interrupted) => Grade::Doubtful,
        _ => Grade::Bad,
    }
}

/// The outcome in a sentence or two.
pub fn sentence(job: &Job, drive: &Drive) -> String {
    let missing = drive.not_overwritten();
    let left = match missing {
        _ if drive.wipe.is_some() && drive.verification.is_none() => "nothing was compared".into(),
        0 => "every byte had been overwritten".into(),
        _ => format!(
            "{} bytes were not overwritten",
            text::grouped_digits(missing)
        ),
    };
    match &drive.outcome {
        None => format!("It was still under way when this was written: {left}."),
        Some(Outcome::Verified) => match compared(job, drive) {
            Scope::Full => {
                "Every byte was overwritten, read back, and found as it was written.".into()
            }
            _ => "Every byte was overwritten; a sample of them was read back, and found as it \
                  was written."
                .into(),
        },
        Some(Outcome::Overwritten) => {
            "Every byte was overwritten. Nothing was read back, as was asked for.".into()
        }
        Some(Outcome::Incomplete) if let Some(now) = drive.size_at_end => format!(
            "Its size changed meanwhile, from {} to {} bytes: nothing is known of what was added or cut off.",
            text::grouped_digits(drive.target.size),
            text::grouped_digits(now)
        ),
        Some(Outcome::Incomplete) => match missing {
            0 if drive.purge_failure().is_some() && drive.unreadable_bytes() == 0 => {
                "Every byte was overwritten, but the drive's own erase failed.".into()
            }
            0 => "Every byte was overwritten, but some could not be read back.".into(),
            _ => format!(
                "{} bytes could not be overwritten.",
                text::grouped_digits(missing)
            ),
        },
        Some(Outcome::Differs) => format!(
            "{} of the bytes that were read back are not what was written.",
            text::grouped_digits(drive.differing_bytes())
        ),
        Some(Outcome::Interrupted) => format!("It was stopped before it was finished: {left}."),
        Some(Outcome::Vanished) => format!("The drive disappeared: {left}."),
        Some(Outcome::Failed { reason }) => format!("It could not continue ({reason}): {left}."),
        Some(Outcome::Dead { reason }) => format!("The drive has died ({reason}): {left}."),
    }
}

/// How much was compared.
fn compared(job: &Job, drive: &Drive) -> Scope {
    let verification = drive.verification.as_ref();
    verification.map_or(job.plan.verify, |verification| verification.scope)
}
