//! Shows the plan, which the user reads before confirming the targets.

use jiff::Timestamp;
use squall_drives::{Identity, Kind, Target};
use squall_tools::{Failure, text, units};

use crate::purge::{self, EraseChoice};
use crate::record::{EraseMethod, Plan, Scope};
use crate::show::json::{Event, FORMAT, Line};
use crate::{content_kind, report, show};

/// The plan as text: a block for each target, and what is done with all of them. `purge` says
/// whether and how they erase themselves first.
pub fn text(targets: &[Target], plan: &Plan, purge: Option<EraseChoice>) -> String {
    blocks(targets, purge) + &summary(targets, plan, purge)
}

fn blocks(targets: &[Target], purge: Option<EraseChoice>) -> String {
    let mut text = String::new();
    for target in targets {
        block(&mut text, &target.identity);
        if let Some(hidden) = target.hidden().and_then(show::text::hidden) {
            add(
                &mut text,
                &format!("  hidden    {hidden}: overwriting does not reach it"),
            );
        }
        if let Some(erase) = erase(target, purge, targets) {
            add(&mut text, &format!("  erase     {erase}"));
        }
    }
    text
}

/// What is done with all of `targets`.
pub fn summary(targets: &[Target], plan: &Plan, purge: Option<EraseChoice>) -> String {
    let mut text = String::new();
    let total: u64 = targets.iter().map(|target| target.identity.size).sum();
    let number = targets.len();
    let noun = if number == 1 { "target" } else { "targets" };
    add(
        &mut text,
        &format!("{number} {noun}, {} in all", units::volume(total)),
    );
    if purge.is_some() {
        add(&mut text, "Each drive first erases itself.");
    }
    add(
        &mut text,
        &format!(
            "to be overwritten {}; {}",
            content_kind::in_words(&plan.passes),
            verification(plan)
        ),
    );
    if purge.is_none() {
        for advice in advice(targets) {
            add(&mut text, &format!("note: {advice}"));
        }
    }
    text
}

/// The plan as an event, for programs.
pub fn event(
    targets: &[Target],
    plan: &Plan,
    purge: Option<EraseChoice>,
) -> Result<String, Failure> {
    let means = targets.iter().map(|target| {
        purge::expected_method(target, purge.unwrap_or(EraseChoice::Auto), targets)?.ok()
    });
    let event = Event::Plan {
        format: FORMAT,
        drives: targets.iter().map(|target| &target.identity).collect(),
        plan,
        purge: purge.is_some(),
        means: means.collect(),
        hidden: targets.iter().map(Target::hidden).collect(),
    };
    Line::new(Timestamp::now(), event).text()
}

fn block(text: &mut String, identity: &Identity) {
    add(text, &identity.given.display().to_string());
    if identity.path != identity.given {
        add(text, &format!("  is        {}", identity.path.display()));
    }
    if let Some(model) = &identity.model {
        add(text, &format!("  model     {model}"));
    }
    if let Some(serial) = &identity.serial {
        add(text, &format!("  serial    {serial}"));
    }
    let size = identity.size;
    add(
        text,
        &format!("  size      {} ({size} bytes)", units::volume(size)),
    );
    let medium = match (identity.kind, identity.flash) {
        (Kind::Disk, Some(true)) => ", flash",
        (Kind::Disk, Some(false)) => ", magnetic",
        _ => "",
    };
    let kind = identity.kind.name();
    add(
        text,
        &format!(
            "  kind      {kind}{medium}, {} byte sectors",
            identity.sector
        ),
    );
}

/// What is known about a target's own erase before the target is opened.
fn erase(target: &Target, purge: Option<EraseChoice>, all: &[Target]) -> Option<String> {
    let identity = &target.identity;
    let is_memory_card = || {
        let name = identity.path.file_name().unwrap_or_default();
        identity.flash == Some(true) && name.to_string_lossy().starts_with("mmcblk")
    };
    match purge::expected_method(target, purge.unwrap_or(EraseChoice::Auto), all) {
        Some(Ok(means)) => Some(format!("supported: {} (--purge)", means.name())),
        Some(Err(why)) => Some(format!("not supported: {why}")),
        None => is_memory_card().then(|| {
            let name = EraseMethod::SecureDiscard.name();
            format!("perhaps supported: {name} (--purge)")
        }),
    }
}

fn verification(plan: &Plan) -> String {
    let when = match plan.verify_each {
        true => "after each pass",
        false => "then",
    };
    match plan.verify {
        Scope::Full => format!("{when} every byte is read back and compared"),
        Scope::Sample => format!("{when} a tenth, at random places, is read back and compared"),
        Scope::None => "nothing is read back".into(),
    }
}

/// Notes on data that overwriting does not reach, each once.
fn advice(targets: &[Target]) -> Vec<String> {
    let mut advice: Vec<String> = Vec::new();
    for target in targets {
        advice.extend(report::flash_advice(&target.identity));
    }
    advice.dedup();
    advice
}

/// Adds one line, even if names in it contain line breaks.
fn add(text: &mut String, line: &str) {
    text.push_str(&text::in_a_line(line));
    text.push('\n');
}
