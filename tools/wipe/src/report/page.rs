//! A page about one drive that a person can print, sign and file: what was wiped, when and how, how
//! much of it was overwritten, what went wrong, and what overwriting cannot reach. And a page about a
//! whole job: what became of each drive, and where its own record is.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use squall_drives::{Health, Hidden};
use squall_tool_base::report::{Cell, Column, Document, Kind as Of, Part, Section, Table, Verdict};
use squall_tool_base::units;

use super::facts::{self, Fact, timestamp};
use crate::content;
use crate::record::{Drive, Extent, Job, Level, Outcome, Pass, Scope, Verification};
use crate::{text, words};

/// The page about the drive of this number.
pub fn html(job: &Job, drive: usize) -> String {
    let drive = &job.drives[drive];
    let name = name(drive);
    let verdict = words::verdict(job, drive);
    let mut method = vec![
        Part::Note(method(job, drive)),
        list(facts::transfer(job, drive)),
    ];
    method.extend(passes(drive));
    let target = list(facts::target(drive));
    let mut parts = vec![
        list(heading(job, drive)),
        section("Drive", vec![target]),
        section("Overwritten", vec![list(facts::overwritten(drive))]),
        section("Verification", vec![list(facts::verification(drive))]),
    ];
    if let Some(purge) = &drive.purge {
        let facts = vec![list(facts::purge(purge))];
        parts.push(section("The drive's own erase", facts));
    }
    parts.push(section("Method", method));
    parts.extend(health(drive));
    let (errors, ranges) = errors(drive);
    parts.push(section("Errors", errors));
    if !drive.notes.is_empty() {
        let notes = drive.notes.iter();
        let notes = notes.map(|note| format!("{}: {}", timestamp(note.at), note.text));
        parts.push(section("Notes", vec![Part::items(notes)]));
    }
    parts.push(section(
        "What overwriting cannot reach",
        words::limits(drive),
    ));
    parts.extend(end(
        job,
        "This record describes the drive that is named above and was in my hands.",
    ));
    parts.extend(ranges);
    parts.extend(exchanges(drive));
    let (command, heading) = match drive.wipe {
        Some(_) => ("squall verify", "Record of a verification"),
        None => ("squall wipe", "Record of a wipe"),
    };
    page(job, command, heading, name, verdict, parts)
}

/// The page about `job`. `reports` are the files about its drives.
pub fn job_html(job: &Job, reports: &[PathBuf]) -> String {
    // The first are the drives' numbers, by which their own pages name each other.
    let columns = ["", "Drive", "Asset", "Size", "Outcome", "Level", "Record"];
    let columns = columns.map(|title| match title {
        "Size" => Column::new(title, Of::Number),
        _ => Column::new(title, Of::Name),
    });
    let rows = (1..).zip(job.drives.iter().zip(reports));
    let rows = rows.map(|(number, (drive, report))| row(job, number, drive, report));
    let note = format!(
        "Levels are those of NIST SP 800-88 Rev. 2, for whole drives that hide nothing and were verified. \
         The names of records begin with {}-.",
        job.id
    );
    let drives = vec![table(columns, rows), Part::Note(note)];
    let mut parts = vec![list(job_heading(job)), section("Drives", drives)];
    parts.extend(end(
        job,
        "This record describes the drives that are named above and were in my hands.",
    ));
    let name = format!("job {}", job.id);
    let verdict = words::verdict_on_all(job);
    page(job, "squall wipe", "Record of a job", name, verdict, parts)
}

/// A page whose title is the verdict and `name`.
fn page(
    job: &Job,
    command: &'static str,
    heading: &'static str,
    name: String,
    verdict: Verdict,
    parts: Vec<Part>,
) -> String {
    let now = Timestamp::now();
    let document = Document {
        title: format!("{}: {name}", verdict.word),
        command,
        heading,
        machine: name,
        date: [format!("{now:.0}"), timestamp(now)],
        warnings: Vec::new(),
        advice: vec![Part::Verdict(verdict)],
        parts,
        footer: format!("Made by {} {}", job.tool.name, job.tool.version),
    };
    document.page()
}

fn section(heading: &str, parts: Vec<Part>) -> Part {
    let id = heading.to_lowercase().replace([' ', '\''], "-");
    Section::part(&id, heading, parts)
}

fn list(facts: Vec<Fact>) -> Part {
    let owned = |(name, fact): Fact| (name.to_owned(), fact);
    Part::Facts(facts.into_iter().map(owned).collect())
}

fn table(
    columns: impl IntoIterator<Item = Column>,
    rows: impl IntoIterator<Item = Vec<Cell>>,
) -> Part {
    Part::Table(Table {
        columns: columns.into_iter().collect(),
        groups: vec![(None, rows.into_iter().collect())],
        ..Table::default()
    })
}

/// What every page ends with: the program, and lines to sign `statement` on.
fn end(job: &Job, statement: &str) -> [Part; 2] {
    let same = "The same is in the JSON file beside this page, with every number exact.";
    let tool = vec![list(facts::tool(job)), Part::Note(same.into())];
    let lines = vec![
        Part::Note(statement.into()),
        Part::Signature(job.operator.clone()),
    ];
    [section("Tool", tool), section("Signature", lines)]
}

/// What tells this page from others.
fn heading(job: &Job, drive: &Drive) -> Vec<Fact> {
    let wipe = drive.wipe.as_ref().map(|wipe| wipe.job.clone());
    let facts = [
        ("Job", Some(job.id.clone())),
        ("Wiped by job", wipe),
        ("Customer", job.customer.clone()),
        ("Asset", drive.asset.clone()),
        ("Operator", job.operator.clone()),
    ];
    facts::known(facts).collect()
}

fn job_heading(job: &Job) -> Vec<Fact> {
    let verify = match (job.plan.verify, job.plan.verify_each) {
        (Scope::Full, false) => "every byte, at the end",
        (Scope::Full, true) => "every byte, after each pass",
        (Scope::Sample, false) => "a tenth, at the end",
        (Scope::Sample, true) => "a tenth, after each pass",
        (Scope::None, _) => "nothing",
    };
    let drives = job.drives.iter();
    let began = drives
        .clone()
        .filter_map(|it| Some(it.passes.first()?.began));
    let ended = drives.filter_map(|drive| {
        let verified = drive.verification.as_ref().and_then(|found| found.ended);
        verified.or(drive.passes.last()?.ended)
    });
    let facts = [
        ("Job", Some(job.id.clone())),
        ("Customer", job.customer.clone()),
        ("Operator", job.operator.clone()),
        ("Overwritten", Some(content::in_words(&job.plan.passes))),
        ("Read back and compared", Some(verify.into())),
        ("Began", began.min().map(timestamp)),
        ("Ended", ended.max().map(timestamp)),
    ];
    facts::known(facts).collect()
}

fn row(job: &Job, number: usize, drive: &Drive, report: &Path) -> Vec<Cell> {
    let target = &drive.target;
    let serial = target.serial.clone();
    let name = serial.unwrap_or_else(|| target.given.display().to_string());
    let hidden = drive.hidden.and_then(Hidden::text);
    let level = Cell::new(drive.level.map_or("none", Level::name));
    let file = report.with_extension("html");
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let shown = file.strip_prefix(&format!("{}-", job.id)).unwrap_or(&file);
    vec![
        Cell::new(number.to_string()),
        Cell::new(name).with(target.model.clone()),
        Cell::new(drive.asset.as_deref().unwrap_or("–")),
        Cell::new(units::volume(target.size)),
        Cell::new(words::word(drive)),
        level.with(hidden.map(|hidden| format!("hides {hidden}"))),
        Cell::new(shown),
    ]
}

/// The drive's model and serial number, or else its path.
fn name(drive: &Drive) -> String {
    let target = &drive.target;
    match (&target.model, &target.serial) {
        (Some(model), Some(serial)) => format!("{model}, {serial}"),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (None, None) => target.given.display().to_string(),
    }
}

fn method(job: &Job, drive: &Drive) -> String {
    let is_resumable = drive.outcome.as_ref().is_none_or(Outcome::is_resumable);
    let keys = match () {
        () if drive.wipe.is_none() && is_resumable => {
            "The keys are kept until the job is resumed and done."
        }
        () if job.plan.keep_key && job.plan.ends_with_key() => {
            "The key of the last pass was kept for a later verification."
        }
        () => "The keys were kept no longer than the job needed them, and then destroyed.",
    };
    let overwritten = format!("Overwritten {}.", content::in_words(&job.plan.passes));
    match job.plan.has_keys() {
        true => format!(
            "{overwritten} The keystream is in counter mode (FIPS 197, NIST SP 800-38A), under a \
             fresh random key for each pass. {keys}"
        ),
        false => overwritten,
    }
}

fn passes(drive: &Drive) -> Option<Part> {
    let passes = &drive.passes;
    let are_verified = passes.iter().any(|pass| pass.verification.is_some());
    let mut columns = vec![
        Column::new("Pass", Of::Name),
        Column::new("Content", Of::Name),
        Column::new("Began (UTC)", Of::Number),
        Column::new("Ended (UTC)", Of::Number),
        Column::new("Took", Of::Number),
        Column::new("Rate", Of::Number),
    ];
    columns.extend(are_verified.then(|| Column::new("Read back", Of::Number)));
    let time = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let rows = passes.iter().enumerate().map(|(index, pass)| {
        let rate = pass.offset as f64 / pass.seconds;
        let rate = (pass.seconds > 0.0).then(|| units::rate(rate));
        let is_last = index + 1 == passes.len();
        let last = drive.verification.as_ref().filter(|_| is_last);
        let found = last.or(pass.verification.as_ref());
        let mut row = vec![
            (index + 1).to_string(),
            pass.content.to_string(),
            time(pass.began),
            pass.ended.map_or("not ended".into(), time),
            units::duration(pass.seconds),
            rate.unwrap_or("–".into()),
        ];
        row.extend(are_verified.then(|| found.map_or("–".into(), facts::read_back)));
        row.into_iter().map(Cell::new).collect()
    });
    (!passes.is_empty()).then(|| table(columns, rows))
}

/// The section on the drive's health, with a column for each figure that it gave once; `None` if it says nothing.
fn health(drive: &Drive) -> Option<Part> {
    let end = match drive.wipe {
        Some(_) => "Now",
        None => "After",
    };
    let moments = [("Before", drive.health.before), (end, drive.health.after)];
    let moments = moments.map(|(when, health)| Some((when, figures(&health?))));
    let moments: Vec<_> = moments.into_iter().flatten().collect();
    let (_, names) = moments.first()?;
    let is_given = |index: &usize| moments.iter().any(|(_, all)| all[*index].1.is_some());
    let shown: Vec<usize> = (0..names.len()).filter(is_given).collect();
    let titles = shown.iter().map(|index| names[*index].0);
    let columns = titles.map(|title| Column::new(title, Of::Number));
    let columns = [Column::new("SMART", Of::Name)].into_iter().chain(columns);
    let rows = moments.iter().map(|(when, all)| {
        let figures = shown.iter().map(|index| all[*index].1.as_deref());
        let figures = figures.map(|figure| Cell::new(figure.unwrap_or("–")));
        [Cell::new(*when)].into_iter().chain(figures).collect()
    });
    let table = table(columns, rows);
    Some(section("Health, as the drive reports it", vec![table]))
}

/// All figures of a drive's health, with their names.
fn figures(health: &Health) -> [(&'static str, Option<String>); 11] {
    let count = |count: Option<u64>| count.map(text::grouped_digits);
    let percent = |share: Option<u8>| share.map(|share| format!("{share} %"));
    let state = |is_healthy| match (is_healthy, health.critical_warning) {
        (true, _) => "healthy".to_owned(),
        (false, Some(warning)) => format!("warning {warning:#04x}"),
        (false, None) => "failing".to_owned(),
    };
    let celsius = health.celsius.map(|celsius| format!("{celsius} °C"));
    let powered_on = count(health.power_on_hours).map(|hours| format!("{hours} h"));
    [
        ("State", health.healthy.map(state)),
        ("Temperature", celsius),
        ("Powered on", powered_on),
        ("Power cycles", count(health.power_cycles)),
        ("Reallocated", count(health.reallocated_sectors)),
        ("Pending", count(health.pending_sectors)),
        ("Uncorrectable", count(health.uncorrectable_sectors)),
        ("Life used", percent(health.percentage_used)),
        ("Spare left", percent(health.available_spare)),
        ("Media errors", count(health.media_errors)),
        ("Written", health.bytes_written.map(units::volume)),
    ]
}

/// The most ranges of a kind that are printed. The JSON file has all.
const MOST: usize = 200;

/// How many ranges with errors there are of each kind, or a sentence if there are none; and the sections that list them,
/// which follow everything else. They are those of the last pass, and those that verifications found.
fn errors(drive: &Drive) -> (Vec<Part>, Vec<Part>) {
    let unwritten = drive.passes.last().map_or(&[][..], |pass| &pass.unwritten);
    let mut kinds = vec![("Not overwritten".to_owned(), unwritten, 0)];
    let of_passes = (1..).zip(&drive.passes);
    let of_passes = of_passes.filter_map(|(number, pass): (u32, &Pass)| {
        Some((format!(" after pass {number}"), pass.verification.as_ref()?))
    });
    let last = drive.verification.iter();
    let last = last.map(|found| (String::new(), found));
    let all: Vec<(String, &Verification)> = of_passes.chain(last).collect();
    for (when, found) in all {
        let (unreadable, differing) = (&found.unreadable[..], &found.differing[..]);
        kinds.push((format!("Not readable{when}"), unreadable, 0));
        kinds.push((
            format!("Not as written{when}"),
            differing,
            found.differing_unlisted,
        ));
    }
    kinds.retain(|(_, listed, _)| !listed.is_empty());
    let counts = kinds.iter().map(|(title, listed, unlisted)| {
        let count = listed.len() as u64 + unlisted;
        let noun = if count == 1 { "range" } else { "ranges" };
        let count = text::grouped_digits(count);
        Part::Note(format!("{title}: {count} {noun}, listed at the end."))
    });
    let mut counts: Vec<_> = counts.collect();
    if counts.is_empty() {
        let clean = match (drive.passes.is_empty(), drive.not_overwritten()) {
            (true, _) => "Nothing was written.",
            (false, 0) => "None. Every write succeeded, and everything read back matched.",
            _ => "None so far.",
        };
        counts.push(Part::Note(clean.into()));
    }
    let lists = kinds
        .iter()
        .map(|(title, listed, unlisted)| ranges(title, listed, *unlisted));
    (counts, lists.collect())
}

/// The section that lists ranges of a kind, of which so many are not recorded.
fn ranges(title: &str, listed: &[Extent], unlisted: u64) -> Part {
    let shown = &listed[..listed.len().min(MOST)];
    let columns = ["First byte", "Bytes"].map(|title| Column::new(title, Of::Number));
    let rows = shown.iter().map(|Extent { offset, length }| {
        let numbers = [offset, length].map(|number| text::grouped_digits(*number));
        numbers.map(Cell::new).to_vec()
    });
    let mut parts = vec![table(columns, rows)];
    let in_file = (listed.len() - shown.len()) as u64;
    for (count, where_) in [
        (in_file, "are in the JSON file"),
        (unlisted, "were counted and not recorded"),
    ] {
        let count = (count > 0).then(|| text::grouped_digits(count));
        parts.extend(count.map(|count| Part::Note(format!("{count} more ranges {where_}."))));
    }
    section(&format!("Ranges: {}", title.to_lowercase()), parts)
}

/// What was sent to a drive that sanitizes itself, and what it answered; `None` if it did not.
fn exchanges(drive: &Drive) -> Option<Part> {
    let exchanges = &drive.purge.as_ref()?.sanitize.as_ref()?.exchanges;
    let columns = [
        Column::new("Time", Of::Name),
        Column::new("Sent", Of::Prose),
        Column::new("Answered", Of::Prose),
    ];
    let rows = exchanges.iter().map(|exchange| {
        let (sent, answered) = (&exchange.sent, &exchange.answered);
        let texts = [timestamp(exchange.at), sent.clone(), answered.clone()];
        texts.map(Cell::new).to_vec()
    });
    let commands = || {
        section(
            "Commands of the drive's own erase",
            vec![table(columns, rows)],
        )
    };
    (!exchanges.is_empty()).then(commands)
}
