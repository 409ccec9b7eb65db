//! What will be done, before it is: shown to be read before anything is confirmed.

use serde_json::json;
use squall_command::{output, units};

use crate::purge;
use crate::record::{Identity, Kind, Means, Method, Plan, Scope};
use crate::report;
use crate::target::Target;

/// The plan as text: a block a target, and what is done with all of them; whether they erase
/// themselves first if that is asked for as `purge`.
pub fn text(targets: &[Target], plan: &Plan, purge: bool) -> String {
    let mut text = String::new();
    for target in targets {
        block(&mut text, &target.identity);
        if let Some(erase) = erase(target) {
            line(&mut text, &format!("  erase     {erase}"));
        }
    }
    let total: u64 = targets.iter().map(|target| target.identity.size).sum();
    let number = targets.len();
    let noun = if number == 1 { "target" } else { "targets" };
    line(
        &mut text,
        &format!("{number} {noun}, {} in all", units::volume(total)),
    );
    if purge {
        line(&mut text, "first each erases itself, or is refused; then");
    }
    line(
        &mut text,
        &format!("{}; {}", passes(plan), verification(plan.verify)),
    );
    for advice in advice(targets) {
        line(&mut text, &format!("note: {advice}"));
    }
    text
}

/// The plan as one JSON object, for programs.
pub fn json(targets: &[Target], plan: &Plan, purge: bool) -> String {
    let drives: Vec<_> = targets.iter().map(|target| &target.identity).collect();
    let means = targets.iter().map(|target| purge::foreseen(target)?.ok());
    let means: Vec<_> = means.collect();
    let plan = json!({
        "event": "plan", "drives": drives, "plan": plan, "purge": purge, "means": means,
    });
    format!("{plan}\n")
}

fn block(text: &mut String, identity: &Identity) {
    line(text, &identity.given.display().to_string());
    if identity.path != identity.given {
        line(text, &format!("  is        {}", identity.path.display()));
    }
    if let Some(model) = &identity.model {
        line(text, &format!("  model     {model}"));
    }
    if let Some(serial) = &identity.serial {
        line(text, &format!("  serial    {serial}"));
    }
    let size = identity.size;
    line(
        text,
        &format!("  size      {} ({size} bytes)", units::volume(size)),
    );
    let medium = match (identity.kind, identity.flash) {
        (Kind::Disk, Some(true)) => ", flash",
        (Kind::Disk, Some(false)) => ", magnetic",
        _ => "",
    };
    let kind = identity.kind.name();
    line(
        text,
        &format!(
            "  kind      {kind}{medium}, {} byte sectors",
            identity.sector
        ),
    );
}

/// What is known of a target's own erase before it is open.
fn erase(target: &Target) -> Option<String> {
    let identity = &target.identity;
    let is_memory_card = || {
        let name = identity.path.file_name().unwrap_or_default();
        identity.flash == Some(true) && name.to_string_lossy().starts_with("mmcblk")
    };
    match purge::foreseen(target) {
        Some(Ok(means)) => Some(format!("of its own, by {} (--purge)", means.name())),
        Some(Err(why)) => Some(format!("none of its own: {why}")),
        None => is_memory_card().then(|| {
            let name = Means::SecureDiscard.name();
            format!("of its own, by {name}, if it has that (--purge)")
        }),
    }
}

fn passes(plan: &Plan) -> String {
    let content = match plan.method {
        Method::Random => "keystream of AES-256",
        Method::Zero => "zeros",
        Method::Clear => "zeros, as Clear of NIST SP 800-88 Rev. 1",
    };
    match plan.passes {
        1 => format!("to be overwritten once with {content}"),
        passes => format!("to be overwritten {passes} times with {content}"),
    }
}

fn verification(scope: Scope) -> &'static str {
    match scope {
        Scope::Full => "then every byte is read back and compared",
        Scope::Sample => "then a tenth, at random places, is read back and compared",
        Scope::None => "nothing is read back",
    }
}

/// What overwriting does not reach, each once.
fn advice(targets: &[Target]) -> Vec<String> {
    let mut advice: Vec<String> = Vec::new();
    for target in targets {
        advice.extend(report::flash_advice(&target.identity));
    }
    advice.dedup();
    advice
}

/// One line, whatever names are in it.
fn line(text: &mut String, line: &str) {
    text.push_str(&output::in_a_line(line));
    text.push('\n');
}
