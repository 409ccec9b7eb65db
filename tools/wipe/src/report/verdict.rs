//! The verdict on a drive or a job: how good it is, a word, and what that means.

use squall_drives::{Hidden, Kind, Storage};
use squall_tool_base::report::{Grade, Verdict};
use squall_tool_base::units;

use crate::record::{Drive, Job, Level, Outcome, Scope};
use crate::text;

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

pub fn of_drive(job: &Job, drive: &Drive) -> Verdict {
    let mut sentences = vec![sentence(job, drive)];
    sentences.extend(drive.wipe.is_none().then(|| level(drive)));
    Verdict {
        grade: grade(drive),
        word: word(drive),
        sentences,
    }
}

/// How many drives ended how, the worst of which decides.
pub fn of_job(job: &Job) -> Verdict {
    let mut words: Vec<(String, usize)> = Vec::new();
    for word in job.drives.iter().map(word) {
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => words.push((word, 1)),
        }
    }
    let word = match &words[..] {
        [(word, _)] => word.clone(),
        _ => {
            let parts = words.iter();
            let parts = parts.map(|(word, count)| format!("{count} {}", word.to_lowercase()));
            parts.collect::<Vec<_>>().join("; ")
        }
    };
    let total: u64 = job.drives.iter().map(|drive| drive.target.size).sum();
    let (count, total) = (job.drives.len(), units::volume(total));
    Verdict {
        grade: job.drives.iter().map(grade).max().unwrap_or(Grade::Bad),
        word,
        sentences: vec![format!("{count} drives, {total} in all.")],
    }
}

/// The level of sanitization that was reached, and what that means.
fn level(drive: &Drive) -> String {
    let hidden = drive.hidden.and_then(Hidden::text);
    let storage = drive.target.storage;
    let means = match (drive.level, drive.target.kind, hidden) {
        (Some(Level::Clear), ..) => {
            "every place that the host can address was overwritten, and everything that was read \
             back matched."
                .into()
        }
        (Some(Level::Purge), ..) => "the drive also sanitized itself, as it reports.".into(),
        (None, Kind::Disk | Kind::Virtual, _) if storage != Storage::Drive => format!(
            "levels are for drives, and this storage is {}.",
            storage.words()
        ),
        (None, Kind::Disk, Some(hidden)) => {
            format!("it hides {hidden}, which was not overwritten.")
        }
        (None, Kind::Disk, None) => "it was not completely overwritten and verified.".into(),
        (None, ..) => "levels are for whole drives.".to_owned(),
    };
    let name = drive.level.map_or("none", Level::name);
    let validation = match drive.level {
        Some(_) => {
            " Whether that suffices for what it held (validation) is for its owner to decide."
        }
        None => "",
    };
    format!("Level of NIST SP 800-88 Rev. 2: {name}; {means}{validation}")
}

fn grade(drive: &Drive) -> Grade {
    match drive.outcome {
        Some(Outcome::Verified) if drive.hides_something() => Grade::Doubtful,
        Some(Outcome::Verified) => Grade::Good,
        None | Some(Outcome::Overwritten | Outcome::Interrupted) => Grade::Doubtful,
        _ => Grade::Bad,
    }
}

/// The outcome in a sentence or two.
fn sentence(job: &Job, drive: &Drive) -> String {
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
            "{} of the bytes that were read back are not what was written.{}",
            text::grouped_digits(drive.differing_bytes()),
            match drive.wipe {
                Some(_) =>
                    " Somebody has written to it since, or it does not keep what it is given.",
                None => "",
            }
        ),
        Some(Outcome::Interrupted) => format!("It was stopped before it was finished: {left}."),
        Some(Outcome::Vanished) => format!("The drive disappeared: {left}."),
        Some(Outcome::Failed { reason }) => format!("It could not continue ({reason}): {left}."),
        Some(Outcome::Dead { reason }) => format!("The drive has died ({reason}): {left}."),
    }
}

fn compared(job: &Job, drive: &Drive) -> Scope {
    let verification = drive.verification.as_ref();
    verification.map_or(job.plan.verify, |verification| verification.scope)
}
