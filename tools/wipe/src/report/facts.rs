//! What was wiped, how much of it, how, when, and with what: facts by their names.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use squall_drives::io::QueueKind;
use squall_drives::{Hidden, Storage};
use squall_tool_base::units;

use crate::record::{Drive, Job, Purge, Sanitize, Scope, Verification};
use crate::text;

pub type Fact = (&'static str, String);

/// Shown in place of a value that is not known.
const UNKNOWN: &str = "not reported";

/// Those of `facts` that are known.
pub fn known(
    facts: impl IntoIterator<Item = (&'static str, Option<String>)>,
) -> impl Iterator<Item = Fact> {
    let facts = facts.into_iter();
    facts.filter_map(|(name, fact)| Some((name, fact?)))
}

/// A time to the second, in UTC, and beside it as the clocks on the walls show it, with the offset.
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

/// What a drive is, and what it hides from its host.
pub fn target(drive: &Drive) -> Vec<Fact> {
    let target = &drive.target;
    let or_unknown = |value: &Option<String>| value.clone().or(Some(UNKNOWN.into()));
    let medium = match target.flash {
        Some(true) => "flash",
        Some(false) => "magnetic",
        None => UNKNOWN,
    };
    let sector = text::grouped_digits(target.sector.into());
    let given = (target.given != target.path).then(|| target.given.display().to_string());
    let hidden = |hidden: Hidden| match hidden.bytes() {
        0 => "none".to_owned(),
        count => format!(
            "{} behind {}, not overwritten",
            bytes(count),
            hidden.areas()
        ),
    };
    let storage = (target.storage != Storage::Drive).then(|| target.storage.words().into());
    let facts = [
        ("Model", or_unknown(&target.model)),
        ("Serial number", or_unknown(&target.serial)),
        ("WWN", or_unknown(&target.wwid)),
        ("Size", Some(bytes(target.size))),
        ("Sector", Some(format!("{sector} bytes"))),
        ("Kind", Some(target.kind.name().into())),
        ("Storage", storage),
        ("Medium", Some(medium.into())),
        ("Path", Some(target.path.display().to_string())),
        ("Given as", given),
        ("Hidden sectors", drive.hidden.map(hidden)),
    ];
    known(facts).collect()
}

pub fn overwritten(drive: &Drive) -> Vec<Fact> {
    let size = drive.whole();
    let missing = drive.not_overwritten();
    let done = size.saturating_sub(missing);
    vec![
        ("Share", text::share(done, size)),
        ("Overwritten", bytes(done)),
        ("Not overwritten", bytes(missing)),
    ]
}

pub fn verification(drive: &Drive) -> Vec<Fact> {
    let Some(found) = &drive.verification else {
        return vec![("Scope", "nothing was read back".into())];
    };
    let scope = match found.scope {
        Scope::Full => "every byte",
        Scope::Sample => "a sample of a tenth, with both ends",
        Scope::None => "nothing",
    };
    vec![
        ("Scope", scope.into()),
        ("Compared", bytes(found.compared)),
        ("Share", text::share(found.compared, drive.whole())),
        ("Differing", bytes(found.differing_bytes)),
        ("Unreadable", bytes(found.unreadable_bytes())),
        ("Began", timestamp(found.began)),
        ("Ended", found.ended.map_or("not ended".into(), timestamp)),
        ("Took", units::duration(found.seconds)),
    ]
}

/// What a verification has found, in a few words.
pub fn read_back(found: &Verification) -> String {
    match (found.differing_bytes, found.unreadable_bytes()) {
        (0, 0) if found.ended.is_none() => "not ended".into(),
        (0, 0) => "as written".into(),
        (0, unreadable) => format!("{} unreadable", bytes(unreadable)),
        (differing, _) => format!("{} differ", bytes(differing)),
    }
}

pub fn purge(purge: &Purge) -> Vec<Fact> {
    let time_or = |at: Option<Timestamp>, none: &str| Some(at.map_or(none.into(), timestamp));
    let result = match (&purge.failure, purge.ended) {
        (Some(why), _) => format!("failed: {why}"),
        (None, Some(_)) => "done, as the drive says".into(),
        (None, None) => "not known".into(),
    };
    let tried = "on emulated drives only: no real drive had run squall's commands for it";
    let tried = purge.untried_on_hardware.then(|| tried.into());
    let with = purge
        .with
        .map(|other| format!("target {} of the job", other + 1));
    let is_found = |known: &Sanitize| known.found_under_way;
    let found = "found under way: nothing was sent into it";
    let found = purge
        .sanitize
        .as_ref()
        .is_some_and(is_found)
        .then(|| found.into());
    let facts = [
        ("By", Some(purge.means.name().into())),
        ("Began", time_or(purge.began, "not begun")),
        ("Ended", time_or(purge.ended, "not ended")),
        ("Result", Some(result)),
        ("Tried", tried),
        ("Together with", with),
        ("Operation", found),
    ];
    known(facts).collect()
}

/// How bytes went to and from the drive.
pub fn transfer(job: &Job, drive: &Drive) -> Vec<Fact> {
    let path = drive.transfer.map(|transfer| match transfer.direct {
        true => "direct, bypassing the page cache".into(),
        false => "through the page cache, flushed and dropped".into(),
    });
    let queue = drive.transfer.map(|transfer| match transfer.queue {
        QueueKind::Ring => "io_uring".into(),
        QueueKind::Threads => "threads".into(),
    });
    let count = Some(job.plan.count().to_string());
    known([("Passes", count), ("Transfers", path), ("Queue", queue)]).collect()
}

/// The program, and the machine that it ran on.
pub fn tool(job: &Job) -> Vec<Fact> {
    let tool = &job.tool;
    let machine = tool.machine.as_ref();
    let maker = machine.map(|it| [&it.vendor, &it.product].into_iter().flatten());
    let maker = maker.map(|it| it.cloned().collect::<Vec<_>>().join(" "));
    let facts = [
        ("Program", Some(format!("{} {}", tool.name, tool.version))),
        ("Engine", Some(tool.engine.clone())),
        ("Kernel", Some(format!("Linux {}", tool.kernel))),
        ("Host", Some(tool.host.clone())),
        ("Machine", maker.filter(|maker| !maker.is_empty())),
        (
            "Machine's serial number",
            machine.and_then(|it| it.serial.clone()),
        ),
    ];
    known(facts).collect()
}

/// A number of bytes, exact and, from 1000 on, also rounded. Numbers stay on a line with their units.
fn bytes(count: u64) -> String {
    let exact = text::grouped_digits(count);
    match count {
        0 => "none".into(),
        1 => "1\u{a0}byte".into(),
        2..1000 => format!("{exact}\u{a0}bytes"),
        _ => {
            let rounded = units::volume(count).replace(' ', "\u{a0}");
            format!("{exact}\u{a0}bytes ({rounded})")
        }
    }
}
