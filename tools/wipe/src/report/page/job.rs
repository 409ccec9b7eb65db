//! A page about a whole job: what became of each drive, and where its own record is.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maud::{Markup, html};
use squall_drives::Hidden;
use squall_tools::units;

use super::verdict::{self, Grade};
use super::{STYLE, facts, footer, signature};
use crate::content;
use crate::record::{Drive, Job, Level, Scope};

/// The columns of drives.
const TITLES: [&str; 7] = ["", "Drive", "Asset", "Size", "Outcome", "Level", "Record"];

/// The page about `job`. `reports` are the files about its drives.
pub fn html(job: &Job, reports: &[PathBuf]) -> String {
    let (word, grade) = verdict(job);
    let count = job.drives.len();
    let title = format!("{word}: job {}", job.id);
    let total: u64 = job.drives.iter().map(|drive| drive.target.size).sum();
    let sentences = html! { p { "Of " (count) " drives with " (units::volume(total)) " in all." } };
    let rows = html! {
        @for (number, (drive, report)) in (1..).zip(job.drives.iter().zip(reports)) {
            (row(job, number, drive, report))
        }
    };
    let content = html! {
        header {
            p.kicker { "Record of a job" }
            h1 { (count) " drives" }
            (facts::list(&heading(job)))
        }
        (verdict::framed(&grade, &word, &sentences))
        section {
            h2 { "Drives" }
            (super::table("drives", "Drives", TITLES, &rows))
            p.note.below {
                "Levels are those of NIST SP 800-88 Rev. 2, for whole drives that hide nothing and were verified. "
                "The names of records begin with " (job.id) "-."
            }
        }
        (facts::tool(job))
        (signature(job, "This record describes the drives that are named above and were in my hands."))
        (footer(job))
    };
    squall_tools::page::page(&title, STYLE, &content)
}

fn heading(job: &Job) -> Vec<facts::Fact> {
    let verify = match (job.plan.verify, job.plan.verify_each) {
        (Scope::Full, false) => "every byte, at the end",
        (Scope::Full, true) => "every byte, after each pass",
        (Scope::Sample, false) => "a tenth, at the end",
        (Scope::Sample, true) => "a tenth, after each pass",
        (Scope::None, _) => "nothing",
    };
    let mut facts = vec![("Job", job.id.clone())];
    for (name, value) in [("Customer", &job.customer), ("Operator", &job.operator)] {
        facts.extend(value.iter().map(|value| (name, value.clone())));
    }
    facts.push(("Overwritten", content::in_words(&job.plan.passes)));
    facts.push(("Read back and compared", verify.into()));
    let began = moments(job, |drive| drive.passes.first().map(|pass| pass.began)).min();
    let ended = moments(job, |drive| {
        let verified = drive.verification.as_ref().and_then(|found| found.ended);
        verified.or(drive.passes.last()?.ended)
    });
    facts.extend(began.map(|at| ("Began", facts::timestamp(at))));
    facts.extend(ended.max().map(|at| ("Ended", facts::timestamp(at))));
    facts
}

fn moments(job: &Job, of: impl Fn(&Drive) -> Option<Timestamp>) -> impl Iterator<Item = Timestamp> {
    job.drives.iter().filter_map(of)
}

/// How many drives ended how, the worst of which decides.
fn verdict(job: &Job) -> (String, Grade) {
    let mut words: Vec<(String, usize)> = Vec::new();
    for drive in &job.drives {
        let word = verdict::word(drive);
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => words.push((word, 1)),
        }
    }
    let word = match &words[..] {
        [(word, _)] => word.clone(),
        _ => {
            let parts = words
                .iter()
                .map(|(word, count)| format!("{count} {}", word.to_lowercase()));
            parts.collect::<Vec<_>>().join("; ")
        }
    };
    let grades: Vec<_> = job.drives.iter().map(verdict::grade).collect();
    let has = |is: fn(&Grade) -> bool| grades.iter().any(is);
    let grade = match (
        has(|grade| matches!(grade, Grade::Bad)),
        has(|grade| matches!(grade, Grade::Doubtful)),
    ) {
        (true, _) => Grade::Bad,
        (false, true) => Grade::Doubtful,
        (false, false) => Grade::Good,
    };
    (word, grade)
}

fn row(job: &Job, number: usize, drive: &Drive, report: &Path) -> Markup {
    let target = &drive.target;
    let level = drive.level.map_or("none", Level::name);
    let hidden = drive.hidden.and_then(Hidden::text);
    let file = report.with_extension("html");
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let shown = file.strip_prefix(&format!("{}-", job.id)).unwrap_or(&file);
    html! {
        tr {
            td { (number) }
            th scope="row" {
                (target.serial.clone().unwrap_or_else(|| target.given.display().to_string()))
                @if let Some(model) = &target.model { br; span.note { (model) } }
            }
            td { (drive.asset.as_deref().unwrap_or("–")) }
            td { (units::volume(target.size)) }
            td { (verdict::word(drive)) }
            td {
                (level)
                @if let Some(hidden) = hidden { br; span.note { "hides " (hidden) } }
            }
            td { (shown) }
        }
    }
}
