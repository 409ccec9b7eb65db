//! Shows the plan, which the user reads before confirming the targets.

use jiff::Timestamp;
use squall_drives::erase::{EraseChoice, SupportedErases};
use squall_drives::{Hidden, Kind, Storage, Target, guards};
use squall_tool_base::columns::hanging;
use squall_tool_base::{Failure, text, units};

use crate::args::Then;
use crate::purge;
use crate::record::Plan;
use crate::show::json::{Event, FORMAT, Line};
use crate::words;

/// Targets, what is done with them, and what they answered about themselves: each was asked once.
#[derive(Clone, Copy)]
pub struct TargetPlan<'a> {
    pub targets: &'a [Target],
    pub plan: &'a Plan,
    /// Whether and how they erase themselves first.
    pub purge: Option<EraseChoice>,
    /// What each of them answered about its own erase; `None` if it cannot be asked.
    pub erases: &'a [Option<SupportedErases>],
    /// What is done at the end.
    pub then: Option<Then>,
}

impl TargetPlan<'_> {
    /// The plan as text, for a terminal of this width: a block for each target, and what is done with all of them.
    pub fn text(&self, width: Option<usize>) -> String {
        wrapped(&(self.blocks() + &self.summary()), width)
    }

    /// The plan below a table of the targets.
    pub fn text_below_table(&self, width: Option<usize>) -> String {
        wrapped(&(self.additions_to_table() + &self.summary()), width)
    }

    pub fn event(&self) -> Result<String, Failure> {
        let choice = self.choice();
        let means = self.erases.iter();
        let means = means.map(|erase| erase.as_ref()?.known(choice).ok());
        let event = Event::Plan {
            format: FORMAT,
            drives: self.targets.iter().map(|target| &target.identity).collect(),
            plan: self.plan,
            purge: self.purge.is_some(),
            means: means.collect(),
            hidden: self.targets.iter().map(Target::hidden).collect(),
            copies: self.targets.iter().map(guards::older_copies).collect(),
        };
        Line::new(Timestamp::now(), event).text()
    }

    fn choice(&self) -> EraseChoice {
        self.purge.unwrap_or(EraseChoice::Auto)
    }

    /// Each of the targets, with what is known about its own erase: how it is done, or why there is none.
    fn with_erases(&self) -> impl Iterator<Item = (&Target, Option<Result<String, String>>)> {
        let choice = self.choice();
        let all = self.targets.iter().zip(self.erases);
        all.map(move |(target, answer)| match answer {
            Some(answer) => {
                let words = answer.words(choice);
                let words = words.map_err(|why| format!("not supported: {why}"));
                (target, Some(words))
            }
            None => (target, words::perhaps_supported(&target.identity).map(Ok)),
        })
    }

    fn blocks(&self) -> String {
        let mut text = String::new();
        for (target, erase) in self.with_erases() {
            block(&mut text, target);
            let erase = erase.map(|way| way.unwrap_or_else(|why| why));
            beyond(&mut text, target, erase);
        }
        text
    }

    /// What a table does not show: a block for each of the targets that hides something, or can erase itself.
    fn additions_to_table(&self) -> String {
        let mut text = String::new();
        for (target, erase) in self.with_erases() {
            let mut lines = String::new();
            beyond(&mut lines, target, erase.and_then(Result::ok));
            if !lines.is_empty() {
                add(&mut text, &target.identity.path.display().to_string());
                text += &lines;
            }
        }
        text
    }

    fn summary(&self) -> String {
        let mut text = String::new();
        let sizes = self.targets.iter().map(|target| target.identity.size);
        let total = units::volume(sizes.sum());
        let number = self.targets.len();
        let noun = if number == 1 { "target" } else { "targets" };
        add(&mut text, &format!("{number} {noun}, {total} in all"));
        if self.purge.is_some() {
            let erase = "Each drive first erases itself.";
            add(&mut text, &format!("{erase} Note: {}.", purge::UNTRIED));
        }
        add(&mut text, &format!("to be {}", self.plan.text()));
        if let Some(then) = self.then {
            add(&mut text, then.words());
        }
        // Drives that erase themselves need no advice to do that.
        if self.purge.is_none() {
            for note in
                words::flash_notes(self.targets, &purge::own_erases(self.targets, self.erases))
            {
                add(&mut text, &format!("note: {note}"));
            }
        }
        text
    }
}

/// What a drive hides, what keeps older copies, and its erase: what overwriting does not reach, and what may.
fn beyond(text: &mut String, target: &Target, erase: Option<String>) {
    hides(text, target.hidden());
    for copy in guards::older_copies(target) {
        add(text, &format!("  copies    {copy}"));
    }
    if let Some(erase) = erase {
        add(text, &format!("  erase     {erase}"));
    }
}

fn hides(text: &mut String, hidden: Option<Hidden>) {
    if let Some(hidden) = hidden.and_then(Hidden::text) {
        let line = format!("  hidden    {hidden}: overwriting does not reach it");
        add(text, &line);
    }
}

fn block(text: &mut String, target: &Target) {
    let identity = &target.identity;
    add(text, &identity.given.display().to_string());
    if identity.path != identity.given {
        add(text, &format!("  is        {}", identity.path.display()));
    }
    if let Some(file) = target.backing_file() {
        add(text, &format!("  file      {file}"));
    }
    if let Some(model) = &identity.model {
        add(text, &format!("  model     {model}"));
    }
    if let Some(serial) = &identity.serial {
        add(text, &format!("  serial    {serial}"));
    }
    let size = identity.size;
    let rounded = units::volume(size);
    add(text, &format!("  size      {rounded} ({size} bytes)"));
    let medium = match (identity.kind, identity.flash) {
        (Kind::Disk, Some(true)) => ", flash",
        (Kind::Disk, Some(false)) => ", magnetic",
        _ => "",
    };
    let storage = match (identity.kind, identity.storage) {
        (Kind::Disk | Kind::Virtual, storage) if storage != Storage::Drive => {
            format!(", storage: {}", storage.words())
        }
        _ => String::new(),
    };
    let (kind, sector) = (identity.kind.name(), identity.sector);
    let line = format!("  kind      {kind}{medium}{storage}, {sector} byte sectors");
    add(text, &line);
}

/// Wraps the lines of a plan. What is below a target goes on where its second column begins.
fn wrapped(plan: &str, width: Option<usize>) -> String {
    const SECOND_COLUMN: usize = 12;
    let indent = |line: &str| match line.starts_with("  ") {
        true => SECOND_COLUMN,
        false => 2,
    };
    let lines = plan.lines();
    let lines = lines.map(|line| hanging(line, indent(line), width));
    lines.collect()
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
    use crate::record::{ContentKind, Scope};

    fn memory_card(lab: &Lab) -> Target {
        let mut target = Target::find(&lab.image("image", 4096)).expect("a target");
        target.identity.path = "/dev/mmcblk9".into();
        (target.identity.kind, target.identity.flash) = (Kind::Disk, Some(true));
        target
    }

    fn plan() -> Plan {
        Plan {
            passes: vec![ContentKind::ZEROS],
            verify: Scope::Full,
            verify_each: false,
            keep_key: false,
        }
    }

    /// A plan for targets that cannot be asked.
    fn planned<'a>(
        targets: &'a [Target],
        plan: &'a Plan,
        purge: Option<EraseChoice>,
    ) -> TargetPlan<'a> {
        TargetPlan {
            targets,
            plan,
            purge,
            erases: &[const { None }; 2][..targets.len()],
            then: None,
        }
    }

    #[test]
    fn what_a_table_does_not_show_is_below_it() {
        let lab = Lab::new();
        let card = memory_card(&lab);
        let plain = Target::find(&lab.image("plain", 4096)).expect("a target");
        let targets = [plain, card];
        assert_eq!(
            planned(&targets, &plan(), None).additions_to_table(),
            "/dev/mmcblk9\n  erase     perhaps supported: secure discard (--purge)\n"
        );
        let mut text = String::new();
        let hidden = Hidden {
            hpa: 1_000_000,
            dco: None,
        };
        hides(&mut text, Some(hidden));
        assert!(text.starts_with("  hidden    1.00 MB (HPA): "), "{text}");
    }

    /// On narrow terminals no word of a plan is broken, and no line is wider but for a long word.
    #[test]
    fn plans_fit() {
        let lab = Lab::new();
        let mut card = memory_card(&lab);
        card.identity.given = "/dev/mmcblk9".into();
        let targets = [card];
        let plan = plan();
        let planned = planned(&targets, &plan, None);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let fits = |text: &str, columns| text.lines().all(|it| it.chars().count() <= columns);
        let whole = planned.text(None);
        assert!(!fits(&whole, 160), "{whole}");
        for columns in [40, 60, 80, 160] {
            let text = planned.text(Some(columns));
            assert!(fits(&text, columns), "{text}");
            assert_eq!(words(&text), words(&whole));
        }
    }

    /// Drives that erase themselves need no advice to do that.
    #[test]
    fn with_purge_nothing_else_is_advised() {
        let lab = Lab::new();
        let targets = [memory_card(&lab)];
        let plan = plan();
        let text = |purge| planned(&targets, &plan, purge).text_below_table(None);
        let advised = text(None);
        assert!(
            advised.contains("`squall wipe --purge --untried-on-hardware /dev/mmcblk9`"),
            "{advised}"
        );
        let purged = text(Some(EraseChoice::Auto));
        for words in [
            "Each drive first erases itself.",
            "tried on emulated drives only",
        ] {
            assert!(
                purged.contains(words) && !purged.contains("note:"),
                "{purged}"
            );
        }
    }
}
