//! What was wiped, how much of it, how, when, and with what.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use squall_drives::io::QueueKind;
use squall_drives::{Hidden, Identity};
use squall_tools::units;

use crate::content;
use crate::record::{Drive, Job, Outcome, Pass, Purge, Scope, Verification};
use crate::text;

/// A name and a value.
pub type Fact = (&'static str, String);

/// Shown in place of a value that is not known.
const UNKNOWN: &str = "not reported";

pub fn sections(job: &Job, drive: &Drive) -> Markup {
    html! {
        (section("Drive", &[target(&drive.target), hidden(drive)].concat()))
        (section("Overwritten", &overwritten(drive)))
        (section("Verification", &verification(drive)))
        @if let Some(purge) = &drive.purge { (section("The drive's own erase", &purge_facts(purge))) }
        section {
            h2 { "Method" }
            p { (method(job, drive)) }
            (list(&transfer(job, drive)))
            (passes(drive))
        }
    }
}

/// The program, and the machine that it ran on.
pub fn tool(job: &Job) -> Markup {
    section("Tool", &tool_facts(job))
}

/// A time to the second, for people.
pub fn time(at: Timestamp) -> Markup {
    html! { time datetime=(format!("{at:.0}")) { (timestamp(at)) } }
}

/// A time to the second, without the time zone.
fn short_time(at: Timestamp) -> Markup {
    html! {
        time datetime=(format!("{at:.0}")) { (at.strftime("%Y-%m-%d %H:%M:%S").to_string()) }
    }
}

/// In UTC, and beside it as the clocks on the walls show it, with the offset.
pub fn timestamp(at: Timestamp) -> String {
    let utc = at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    // The pages of tests are the same everywhere.
    let zone = match cfg!(test) {
        true => TimeZone::UTC,
        false => TimeZone::system(),
    };
    let local = at.to_zoned(zone);
    match local.offset().is_zero() {
        true => utc,
        false => format!("{utc} ({})", local.strftime("%Y-%m-%d %H:%M:%S %:z")),
    }
}

pub fn section(title: &str, facts: &[Fact]) -> Markup {
    html! { section { h2 { (title) } (list(facts)) } }
}

pub fn list(facts: &[Fact]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
        }
    }
}

fn target(target: &Identity) -> Vec<Fact> {
    let or_unknown = |value: &Option<String>| value.clone().unwrap_or(UNKNOWN.into());
    let medium = match target.flash {
        Some(true) => "flash",
        Some(false) => "magnetic",
        None => UNKNOWN,
    };
    let mut facts = vec![
        ("Model", or_unknown(&target.model)),
        ("Serial number", or_unknown(&target.serial)),
        ("WWN", or_unknown(&target.wwid)),
        ("Size", bytes(target.size)),
        (
            "Sector",
            format!("{} bytes", text::grouped_digits(target.sector.into())),
        ),
        ("Kind", target.kind.name().into()),
        ("Medium", medium.into()),
        ("Path", target.path.display().to_string()),
    ];
    if target.given != target.path {
        facts.push(("Given as", target.given.display().to_string()));
    }
    facts
}

/// What an ATA drive hides from its host.
fn hidden(drive: &Drive) -> Vec<Fact> {
    let fact = |hidden: Hidden| {
        let text = match hidden.bytes() {
            0 => "none".to_owned(),
            count => format!(
                "{} behind {}, not overwritten",
                bytes(count),
                hidden.areas()
            ),
        };
        ("Hidden sectors", text)
    };
    drive.hidden.map(fact).into_iter().collect()
}

fn overwritten(drive: &Drive) -> Vec<Fact> {
    let size = drive.whole();
    let missing = drive.not_overwritten();
    let done = size.saturating_sub(missing);
    vec![
        ("Share", text::share(done, size)),
        ("Overwritten", bytes(done)),
        ("Not overwritten", bytes(missing)),
    ]
}

fn verification(drive: &Drive) -> Vec<Fact> {
    let Some(verification) = &drive.verification else {
        return vec![("Scope", "nothing was read back".into())];
    };
    let Verification {
        compared,
        differing_bytes,
        ..
    } = verification;
    let scope = match verification.scope {
        Scope::Full => "every byte",
        Scope::Sample => "a sample of a tenth, with both ends",
        Scope::None => "nothing",
    };
    let ended = verification.ended.map(timestamp);
    vec![
        ("Scope", scope.into()),
        ("Compared", bytes(*compared)),
        ("Share", text::share(*compared, drive.whole())),
        ("Differing", bytes(*differing_bytes)),
        ("Unreadable", bytes(verification.unreadable_bytes())),
        ("Began", timestamp(verification.began)),
        ("Ended", ended.unwrap_or("not ended".into())),
        ("Took", took(verification.seconds)),
    ]
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

/// The drive's own erase.
fn purge_facts(purge: &Purge) -> Vec<Fact> {
    let time_or = |at: Option<Timestamp>, none: &str| at.map_or(none.into(), timestamp);
    let result = match (&purge.failure, purge.ended) {
        (Some(why), _) => format!("failed: {why}"),
        (None, Some(_)) => "done, as the drive says".into(),
        (None, None) => "not known".into(),
    };
    let mut facts = vec![
        ("By", purge.means.name().into()),
        ("Began", time_or(purge.began, "not begun")),
        ("Ended", time_or(purge.ended, "not ended")),
        ("Result", result),
    ];
    if purge.untried_on_hardware {
        let tried = "on emulated drives only: no real drive had run squall's commands for it";
        facts.push(("Tried", tried.into()));
    }
    if let Some(other) = purge.with {
        let number = other + 1;
        facts.push(("Together with", format!("target {number} of the job")));
    }
    if purge
        .sanitize
        .as_ref()
        .is_some_and(|known| known.found_under_way)
    {
        let found = "found under way: nothing was sent into it";
        facts.push(("Operation", found.into()));
    }
    facts
}

fn transfer(job: &Job, drive: &Drive) -> Vec<Fact> {
    let mut facts = vec![("Passes", job.plan.count().to_string())];
    if let Some(transfer) = drive.transfer {
        let path = if transfer.direct {
            "direct, bypassing the page cache"
        } else {
            "through the page cache, flushed and dropped"
        };
        let queue = match transfer.queue {
            QueueKind::Ring => "io_uring",
            QueueKind::Threads => "threads",
        };
        facts.push(("Transfers", path.into()));
        facts.push(("Queue", queue.into()));
    }
    facts
}

fn passes(drive: &Drive) -> Markup {
    let passes = &drive.passes;
    let are_verified = passes.iter().any(|pass| pass.verification.is_some());
    let found = |index: usize| match index + 1 == passes.len() {
        true => drive
            .verification
            .as_ref()
            .or(passes[index].verification.as_ref()),
        false => passes[index].verification.as_ref(),
    };
    let titles = [
        "Pass",
        "Content",
        "Began (UTC)",
        "Ended (UTC)",
        "Took",
        "Rate",
    ];
    let titles = titles
        .into_iter()
        .chain(are_verified.then_some("Read back"));
    let rows = html! {
        @for (index, pass) in passes.iter().enumerate() {
            tr {
                (cells(index + 1, pass))
                @if are_verified { td { (read_back(found(index))) } }
            }
        }
    };
    html! { @if !passes.is_empty() { (super::table("passes", "Passes", titles, &rows)) } }
}

fn cells(number: usize, pass: &Pass) -> Markup {
    html! {
        th scope="row" { (number) }
        td { (pass.content) }
        td { (short_time(pass.began)) }
        td { @match pass.ended { Some(at) => (short_time(at)), None => "not ended" } }
        td { (took(pass.seconds)) }
        td {
            @if pass.seconds > 0.0 { (units::rate(pass.offset as f64 / pass.seconds)) }
            @else { "–" }
        }
    }
}

/// What a verification has found.
fn read_back(found: Option<&Verification>) -> String {
    let Some(found) = found else {
        return "–".into();
    };
    let unreadable = found.unreadable_bytes();
    match (found.differing_bytes, unreadable) {
        (0, 0) if found.ended.is_none() => "not ended".into(),
        (0, 0) => "as written".into(),
        (0, unreadable) => format!("{} unreadable", bytes(unreadable)),
        (differing, _) => format!("{} differ", bytes(differing)),
    }
}

fn tool_facts(job: &Job) -> Vec<Fact> {
    let tool = &job.tool;
    let mut facts = vec![
        ("Program", format!("{} {}", tool.name, tool.version)),
        ("Engine", tool.engine.clone()),
        ("Kernel", format!("Linux {}", tool.kernel)),
        ("Host", tool.host.clone()),
    ];
    if let Some(machine) = &tool.machine {
        let maker = [&machine.vendor, &machine.product];
        let maker: Vec<_> = maker.into_iter().flatten().cloned().collect();
        facts.extend((!maker.is_empty()).then(|| ("Machine", maker.join(" "))));
        let serial = machine.serial.iter().cloned();
        facts.extend(serial.map(|serial| ("Its serial number", serial)));
    }
    facts
}

/// A number of bytes, exact and, from 1000 on, also rounded. Numbers stay on a line with their units.
fn bytes(count: u64) -> String {
    let text = match count {
        0 => return "none".into(),
        1 => return "1\u{a0}byte".into(),
        2..1000 => format!("{count} bytes"),
        _ => format!(
            "{} bytes ({})",
            text::grouped_digits(count),
            units::volume(count)
        ),
    };
    text.replace(' ', "\u{a0}").replace("\u{a0}(", " (")
}

fn took(seconds: f64) -> String {
    match seconds as u64 {
        ..60 => units::time(seconds * 1e9),
        whole => format!(
            "{}:{:02}:{:02} h",
            whole / 3600,
            whole / 60 % 60,
            whole % 60
        ),
    }
}
