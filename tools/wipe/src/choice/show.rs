//! The drives of `squall wipe --all` as tables: what is to be wiped, and what is left out.

use jiff::Timestamp;
use rustix::termios::tcgetwinsize;
use squall_drives::Target;
use squall_tools::columns::{columns, lines};
use squall_tools::text::in_a_line;
use squall_tools::{Failure, units};

use super::{Choice, Skipped};
use crate::show::json::{Event, Line};
use crate::show::text;

impl Choice {
    /// Both tables, for a terminal.
    pub fn text(&self) -> String {
        let width = width();
        let mut text = String::new();
        if !self.skipped.is_empty() {
            text += &format!("left out:\n{}\n", left_out(&self.skipped, width));
        }
        if !self.targets.is_empty() {
            text += &format!("to be wiped:\n{}\n", chosen(&self.targets, width));
        }
        text
    }

    /// What is left out, as an event for programs.
    pub fn event(&self) -> Result<String, Failure> {
        let skipped = &self.skipped;
        Line::new(Timestamp::now(), Event::Choice { skipped }).text()
    }
}

/// The width of the terminal on which the plan is shown.
fn width() -> Option<usize> {
    let size = tcgetwinsize(rustix::stdio::stderr()).ok()?;
    Some(size.ws_col.into()).filter(|columns| *columns > 0)
}

fn left_out(skipped: &[Skipped], width: Option<usize>) -> String {
    let mut table = columns(width);
    table.add_rows(skipped.iter().map(|drive| {
        [
            text::path(&drive.path),
            units::volume(drive.size),
            or_none(&drive.model),
            or_none(&drive.serial),
            in_a_line(&drive.reason),
        ]
    }));
    lines(&mut table, 2, |column| column == 1)
}

fn chosen(targets: &[Target], width: Option<usize>) -> String {
    let mut table = columns(width);
    table.add_rows(targets.iter().map(|target| {
        let identity = &target.identity;
        [
            text::path(&identity.path),
            units::volume(identity.size),
            or_none(&target.bus()),
            text::medium(identity.flash).into(),
            or_none(&identity.model),
            or_none(&identity.serial),
        ]
    }));
    lines(&mut table, 2, |column| column == 1)
}

fn or_none(value: &Option<String>) -> String {
    value.as_deref().map_or(text::NONE.into(), in_a_line)
}
