//! The drives of `squall wipe --all` as tables: what is to be wiped, and what is left out.

use jiff::Timestamp;
use squall_drives::list::{is_narrow, medium, or_none};
use squall_drives::{Target, shown};
use squall_tools::columns::{columns, hide, lines, whole};
use squall_tools::text::in_a_line;
use squall_tools::{Failure, units};

use super::{Choice, LeftOut, Skipped};
use crate::show::json::{Event, Line};

impl Choice {
    /// Both tables, for a terminal of this width.
    pub fn text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        if !self.left_out.is_empty() {
            text += &format!("left out:\n{}\n", left_out(&self.left_out, width));
        }
        if !self.targets.is_empty() {
            text += &format!("to be wiped:\n{}\n", chosen(&self.targets, width));
        }
        text
    }

    /// What is left out, as an event for programs.
    pub fn event(&self) -> Result<String, Failure> {
        let skipped = self.left_out.iter().map(Skipped::of).collect();
        Line::new(Timestamp::now(), Event::Choice { skipped }).text()
    }
}

impl Skipped {
    fn of(left_out: &LeftOut) -> Skipped {
        let drive = &left_out.target.identity;
        Skipped {
            path: drive.path.clone(),
            model: drive.model.clone(),
            serial: drive.serial.clone(),
            size: drive.size,
            reason: left_out.reason.clone(),
        }
    }
}

fn left_out(drives: &[LeftOut], width: Option<usize>) -> String {
    let mut table = columns(width);
    table.add_rows(drives.iter().map(|LeftOut { target, reason }| {
        let identity = &target.identity;
        [
            shown(&identity.path),
            units::volume(identity.size),
            or_none(&identity.model),
            or_none(&identity.serial),
            in_a_line(reason),
        ]
    }));
    for column in [0, 1, 3] {
        whole(&mut table, column);
    }
    if is_narrow(width) {
        hide(&mut table, 2);
    }
    lines(&mut table, 2, |column| column == 1)
}

fn chosen(targets: &[Target], width: Option<usize>) -> String {
    let mut table = columns(width);
    table.add_rows(targets.iter().map(|target| {
        let identity = &target.identity;
        [
            shown(&identity.path),
            units::volume(identity.size),
            or_none(&target.bus()),
            medium(identity.flash).into(),
            or_none(&identity.model),
            or_none(&identity.serial),
        ]
    }));
    for column in [0, 1, 2, 3, 5] {
        whole(&mut table, column);
    }
    if is_narrow(width) {
        hide(&mut table, 3);
    }
    lines(&mut table, 2, |column| column == 1)
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;

    /// What is left out, and what is to be wiped, on terminals of three widths.
    #[test]
    fn tables_are_as_they_were_and_fit() {
        let lab = Lab::new();
        let file = lab.image("image", 4096);
        let drive = |path: &str, model: &str, serial: &str| {
            let mut target = Target::find(&file).expect("a target");
            target.identity.path = path.into();
            target.identity.size = 4_000_787_030_016;
            target.identity.model = Some(model.into());
            target.identity.serial = Some(serial.into());
            target.identity.flash = Some(false);
            target
        };
        let left_out = |path: &str, serial: &str, reason: &str| {
            let mut target = drive(path, "Samsung SSD 970 EVO Plus 1TB", serial);
            target.identity.size = 1_000_204_886_016;
            let reason = reason.into();
            LeftOut { target, reason }
        };
        let choice = Choice {
            targets: vec![
                drive("/dev/sdb", "WDC WD40EFRX-68N32N0", "WD-WX12A3456789"),
                drive("/dev/sdc", "ST4000NM0035-1V4107", "ZC1A2B3C"),
            ],
            left_out: vec![
                left_out(
                    "/dev/nvme0n1",
                    "S4EVNX0M123456",
                    "is a disk of the running system: /boot/efi is on it",
                ),
                left_out("/dev/sda", "S4EVNX0M123457", "left out by --except"),
            ],
        };
        let mut shown = String::new();
        for columns in [60, 80, 160] {
            let text = choice.text(Some(columns));
            assert!(text.lines().all(|line| line.chars().count() <= columns));
            shown += &format!("{columns}\n{text}\n");
        }
        insta::assert_snapshot!("choice", shown);
    }

    #[test]
    fn a_drive_that_is_left_out_later_is_shown_with_the_reason() {
        let lab = Lab::new();
        let targets = ["idle", "busy"].map(|name| Target::find(&lab.image(name, 4096)).unwrap());
        let mut choice = Choice {
            targets: targets.into(),
            left_out: Vec::new(),
        };
        let is_busy = |target: &Target| target.identity.path.ends_with("busy");
        choice.leave_out(|target| is_busy(target).then(|| "it is sanitizing itself".into()));
        let text = choice.text(None);
        let (skipped, wiped) = text.split_once("to be wiped:").expect("both tables");
        assert!(
            skipped.contains("/busy") && skipped.contains("it is sanitizing itself"),
            "{text}"
        );
        assert!(
            wiped.contains("/idle") && !wiped.contains("/busy"),
            "{text}"
        );
    }
}
