//! Shows the plan, which the user reads before confirming the targets.

use jiff::Timestamp;
use squall_drives::{Hidden, Identity, Kind, Target};
use squall_tools::{Failure, text, units};

use crate::purge::{self, EraseChoice};
use crate::record::{EraseMethod, Plan, Scope};
use crate::show::json::{Event, FORMAT, Line};
use crate::{content_kind, report, show};

/// The plan as text: a block for each target, and what is done with all of them. `purge` says
/// whether and how they erase themselves first. Each is asked once.
pub fn text(targets: &[Target], plan: &Plan, purge: Option<EraseChoice>) -> String {
    let methods = expected_methods(targets, purge);
    blocks(targets, &methods) + &summary(targets, plan, purge, &methods)
}

/// The plan below a table of the targets.
pub fn text_below_table(targets: &[Target], plan: &Plan, purge: Option<EraseChoice>) -> String {
    let methods = expected_methods(targets, purge);
    additions_to_table(targets, &methods) + &summary(targets, plan, purge, &methods)
}

/// How a target is expected to erase itself, or why it cannot; `None` if it cannot be asked.
type ExpectedMethod = Option<Result<EraseMethod, String>>;

/// What each of `targets` tells of its own erase, before it is opened.
fn expected_methods(targets: &[Target], purge: Option<EraseChoice>) -> Vec<ExpectedMethod> {
    let choice = purge.unwrap_or(EraseChoice::Auto);
    let ask = |target| purge::expected_method(target, choice, targets);
    targets.iter().map(ask).collect()
}

fn blocks(targets: &[Target], methods: &[ExpectedMethod]) -> String {
    let mut text = String::new();
    for (target, method) in targets.iter().zip(methods) {
        block(&mut text, &target.identity);
        let erase = erase(&target.identity, method).map(|way| way.unwrap_or_else(|why| why));
        beyond(&mut text, target.hidden(), erase);
    }
    text
}

/// What a table does not show: a block for each of `targets` that hides something, or can erase itself.
fn additions_to_table(targets: &[Target], methods: &[ExpectedMethod]) -> String {
    let mut text = String::new();
    for (target, method) in targets.iter().zip(methods) {
        let mut lines = String::new();
        let way = erase(&target.identity, method).and_then(Result::ok);
        beyond(&mut lines, target.hidden(), way);
        if !lines.is_empty() {
            add(&mut text, &target.identity.path.display().to_string());
            text += &lines;
        }
    }
    text
}

/// What a drive hides, and its erase: what overwriting does not reach, and what may.
fn beyond(text: &mut String, hidden: Option<Hidden>, erase: Option<String>) {
    if let Some(hidden) = hidden.and_then(show::text::hidden) {
        add(
            text,
            &format!("  hidden    {hidden}: overwriting does not reach it"),
        );
    }
    if let Some(erase) = erase {
        add(text, &format!("  erase     {erase}"));
    }
}

/// What is done with all of `targets`.
fn summary(
    targets: &[Target],
    plan: &Plan,
    purge: Option<EraseChoice>,
    methods: &[ExpectedMethod],
) -> String {
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
    // Drives that erase themselves need no advice to do that.
    if purge.is_none() {
        for advice in advice(targets, methods) {
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
    let means = expected_methods(targets, purge)
        .into_iter()
        .map(|method| method?.ok());
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

/// What is known about a target's own erase before the target is opened: how it is done, or why there is none.
fn erase(identity: &Identity, method: &ExpectedMethod) -> Option<Result<String, String>> {
    let is_memory_card = || {
        let name = identity.path.file_name().unwrap_or_default();
        identity.flash == Some(true) && name.to_string_lossy().starts_with("mmcblk")
    };
    match method {
        Some(Ok(means)) => Some(Ok(format!("supported: {} (--purge)", means.name()))),
        Some(Err(why)) => Some(Err(format!("not supported: {why}"))),
        None => is_memory_card().then(|| {
            let name = EraseMethod::SecureDiscard.name();
            Ok(format!("perhaps supported: {name} (--purge)"))
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
fn advice(targets: &[Target], methods: &[ExpectedMethod]) -> Vec<String> {
    let mut advice: Vec<String> = Vec::new();
    for (target, method) in targets.iter().zip(methods) {
        let method = method.clone().and_then(Result::ok);
        advice.extend(report::flash_advice(&target.identity, method));
    }
    advice.dedup();
    advice
}

/// Adds one line, even if names in it contain line breaks.
fn add(text: &mut String, line: &str) {
    text.push_str(&text::in_a_line(line));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;
    use crate::record::ContentKind;

    fn memory_card(lab: &Lab) -> Target {
        let mut target = Target::find(&lab.image("image", 4096)).expect("a target");
        target.identity.path = "/dev/mmcblk9".into();
        (target.identity.kind, target.identity.flash) = (Kind::Disk, Some(true));
        target
    }

    #[test]
    fn what_a_table_does_not_show_is_below_it() {
        let lab = Lab::new();
        let card = memory_card(&lab);
        let plain = Target::find(&lab.image("plain", 4096)).expect("a target");
        let targets = [plain, card];
        let methods = expected_methods(&targets, None);
        assert_eq!(
            additions_to_table(&targets, &methods),
            "/dev/mmcblk9\n  erase     perhaps supported: secure discard (--purge)\n"
        );
        let mut text = String::new();
        let hidden = Hidden {
            hpa: 1_000_000,
            dco: None,
        };
        beyond(&mut text, Some(hidden), None);
        assert!(text.starts_with("  hidden    1.00 MB (HPA): "), "{text}");
    }

    /// Drives that erase themselves need no advice to do that.
    #[test]
    fn with_purge_nothing_else_is_advised() {
        let lab = Lab::new();
        let targets = [memory_card(&lab)];
        let plan = Plan {
            passes: vec![ContentKind::ZEROS],
            verify: Scope::Full,
            verify_each: false,
            keep_key: false,
        };
        let text = text_below_table(&targets, &plan, None);
        assert!(
            text.contains("`squall wipe --purge /dev/mmcblk9`"),
            "{text}"
        );
        let text = text_below_table(&targets, &plan, Some(EraseChoice::Auto));
        assert!(
            text.contains("Each drive first erases itself.") && !text.contains("note:"),
            "{text}"
        );
    }
}
