//! Chooses the drives of `squall wipe --all`: whole drives of this machine that nobody uses.
//!
//! Partitions, loop devices and mapped devices are never chosen, nor drives that are reached over a network or a bus
//! that squall does not know, which other machines may use. Whatever is not chosen is listed with the reason.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use schemars::JsonSchema;
use serde::Serialize;
use squall_drives::confirm::Consent;
use squall_drives::list::{aligned, count, medium, or_none};
use squall_drives::{Target, guards, shown};
use squall_tool_base::text::in_a_line;
use squall_tool_base::{Failure, units};

use crate::PURPOSE;
use crate::args::{Bus, ChoiceArguments, names};

pub struct Choice {
    pub targets: Vec<Target>,
    pub left_out: Vec<LeftOut>,
}

pub struct LeftOut {
    pub target: Target,
    pub reason: String,
}

/// A drive that is not wiped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Skipped {
    pub path: PathBuf,
    pub model: Option<String>,
    pub serial: Option<String>,
    /// Length in bytes.
    pub size: u64,
    /// Why it is left out.
    pub reason: String,
}

/// Chooses drives. Changes nothing on them.
pub fn choose(options: &ChoiceArguments, consent: &Consent) -> Result<Choice, Failure> {
    check_consent(options, consent)?;
    let drives = Target::drives()?;
    let excepted = excepted(&options.except, &drives)?;
    let uses = guards::uses(&drives, &PURPOSE)?;
    let mut choice = Choice {
        targets: Vec::new(),
        left_out: Vec::new(),
    };
    for ((number, target), uses) in drives.into_iter().enumerate().zip(uses) {
        let reason = match excepted.contains(&number) {
            true => Some("left out by --except".into()),
            false => guards::same_drive(&choice.targets, &target)
                .or_else(|| reason_against(&target, &options.bus))
                .or_else(|| uses.into_iter().next()),
        };
        choice.add(target, reason);
    }
    Ok(choice)
}

impl Choice {
    /// Fails if no drive is left, or another number of drives than the user expects.
    pub fn check(&self, options: &ChoiceArguments) -> Result<(), Failure> {
        let found = self.targets.len();
        match options.count {
            Some(expected) if expected != found => Err(Failure::Usage(format!(
                "--count {expected}: {} would be wiped: nothing was written: compare with the list, and \
                 attach the missing drives, or exclude others with --except",
                count(found)
            ))),
            _ if found == 0 && !options.watch => Err(Failure::Usage(
                "--all: every drive is in use or excluded: nothing was written: `squall drives` shows what uses each"
                    .into(),
            )),
            _ => Ok(()),
        }
    }

    /// Leaves out the targets for which `why` has a reason.
    pub fn leave_out(&mut self, why: impl Fn(&Target) -> Option<String>) {
        for target in std::mem::take(&mut self.targets) {
            let reason = why(&target);
            self.add(target, reason);
        }
    }

    fn add(&mut self, mut target: Target, reason: Option<String>) {
        match reason {
            None => {
                // The user sees all of them and confirms their number; until each is open, it must remain the same
                // attachment.
                target.has_stable_name = true;
                self.targets.push(target);
            }
            Some(reason) => self.left_out.push(LeftOut { target, reason }),
        }
    }
}

/// Without a question, a script must say on which buses how many drives it means: drives that it does not know of
/// may be attached.
fn check_consent(options: &ChoiceArguments, consent: &Consent) -> Result<(), Failure> {
    let is_explicit = !options.bus.is_empty() && options.count.is_some();
    if !consent.yes || is_explicit {
        return Ok(());
    }
    Err(Failure::Usage(
        "--all --yes would wipe drives that you have not seen: nothing was written: add --bus and --count, or name \
         the drives"
            .into(),
    ))
}

/// Why `target` is not wiped, whether it is in use or not; `None` if it may be.
pub fn reason_against(target: &Target, buses: &[Bus]) -> Option<String> {
    let on_another_bus = reason_against_bus(&target.bus().unwrap_or_default(), buses);
    if on_another_bus.is_some() {
        return on_another_bus;
    }
    if target.is_optical() {
        return Some("is an optical drive".into());
    }
    let text = "is reached over a network, and other machines may use it: name it if it is meant";
    target.is_remote().then(|| text.into())
}

/// Why drives on `bus` are not wiped if only those on `buses` are, or on any that is known to be of this machine: what
/// others, such as rbd, lead to, other machines may use.
fn reason_against_bus(bus: &str, buses: &[Bus]) -> Option<String> {
    let allowed = match buses {
        [] => Bus::value_variants(),
        _ => buses,
    };
    let is_allowed = allowed.iter().any(|allowed| allowed.name() == bus);
    (!is_allowed).then(|| format!("is on {bus}, not on {}", names(allowed)))
}

/// Which of `drives` the user excepts. Fails if one of the names is none of theirs, so that typing errors are caught.
fn excepted(names: &[String], drives: &[Target]) -> Result<Vec<usize>, Failure> {
    let mut all = Vec::new();
    for name in names {
        let found = drives.iter().enumerate();
        let found = found.filter(|(_, target)| is_excepted(name, target));
        let before = all.len();
        all.extend(found.map(|(number, _)| number));
        if all.len() == before {
            return Err(Failure::Usage(format!(
                "--except {}: no drive has this name or serial number: nothing was written: `squall drives` shows \
                 them",
                shown(Path::new(name))
            )));
        }
    }
    Ok(all)
}

/// Whether `name` means `target`.
fn is_excepted(name: &str, target: &Target) -> bool {
    match Target::find(Path::new(name)) {
        Ok(named) => target.may_be_on_same_drive_as(&named),
        Err(_) => target.has_serial(name),
    }
}

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

    /// What is left out, for programs.
    pub fn skipped(&self) -> Vec<Skipped> {
        let skipped = |LeftOut { target, reason }: &LeftOut| {
            let drive = target.identity.clone();
            Skipped {
                path: drive.path,
                model: drive.model,
                serial: drive.serial,
                size: drive.size,
                reason: reason.clone(),
            }
        };
        self.left_out.iter().map(skipped).collect()
    }
}

fn left_out(drives: &[LeftOut], width: Option<usize>) -> String {
    let rows = drives.iter().map(|LeftOut { target, reason }| {
        let identity = &target.identity;
        [
            shown(&identity.path),
            units::volume(identity.size),
            or_none(&identity.model),
            or_none(&identity.serial),
            in_a_line(reason),
        ]
    });
    aligned(rows, &[1], &[2, 4], &[2], width)
}

fn chosen(targets: &[Target], width: Option<usize>) -> String {
    let rows = targets.iter().map(|target| {
        let identity = &target.identity;
        [
            shown(&identity.path),
            units::volume(identity.size),
            or_none(&target.bus()),
            medium(identity.flash).into(),
            or_none(&identity.model),
            or_none(&identity.serial),
        ]
    });
    aligned(rows, &[1], &[4], &[3], width)
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;

    #[test]
    fn only_buses_of_this_machine_are_chosen() {
        for bus in Bus::value_variants() {
            assert_eq!(reason_against_bus(&bus.name(), &[]), None);
            assert_eq!(reason_against_bus(&bus.name(), &[*bus]), None);
        }
        for (bus, buses, others) in [
            (
                "rbd",
                &[][..],
                "mmc or nvme or sata or scsi or usb or virtio",
            ),
            ("rbd", &[Bus::Usb], "usb"),
            ("sata", &[Bus::Usb, Bus::Mmc], "usb or mmc"),
        ] {
            let expected = format!("is on {bus}, not on {others}");
            assert_eq!(reason_against_bus(bus, buses), Some(expected));
        }
    }

    /// What is left out, and what is to be wiped, on terminals of two widths.
    #[test]
    fn tables_are_as_they_were_and_fit() {
        let lab = Lab::new();
        let file = lab.image("image", 4096);
        let drive = |path: &str, model: &str, serial: &str| {
            let mut target = Target::find(&file).expect("a target");
            let it = &mut target.identity;
            (it.path, it.size, it.flash) = (path.into(), 4_000_787_030_016, Some(false));
            (it.model, it.serial) = (Some(model.into()), Some(serial.into()));
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
        for columns in [60, 160] {
            let text = choice.text(Some(columns));
            assert!(text.lines().all(|line| line.chars().count() <= columns));
            shown += &format!("{columns}\n{text}\n");
        }
        insta::assert_snapshot!("choice", shown);
    }
}
