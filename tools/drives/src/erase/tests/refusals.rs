//! Tests what may not sanitize itself.

use super::machine::Doing;
use super::{World, ata, nvme, sanitize, scsi};
use crate::erase::Action;
use crate::erase::ata::Disk;
use crate::erase::nvme::Subsystem;
use crate::erase::sanitize::ACTIONS;
use crate::erase::sanitize::{Actions, End, Sanitizer, State};
use crate::erase::scsi::LogicalUnit;

fn refusal(drive: &dyn Sanitizer) -> String {
    drive.actions().expect_err("it is refused")
}

/// Sanitize erases every namespace: each must be named, or hold nothing.
#[test]
fn all_namespaces_are_named_or_empty() {
    const MANAGEMENT: u16 = 1 << 3;
    for commands in [0, MANAGEMENT] {
        let controller = nvme::Controller {
            commands,
            namespaces: vec![(1, 10), (2, 0), (7, 1), (9, u64::MAX)],
            ..nvme::Controller::default()
        };
        let may = |named: &[u32]| Subsystem::new(&controller, named.to_vec()).actions();
        assert_eq!(may(&[1, 7, 9]).unwrap().all, ACTIONS);
        assert_eq!(may(&[9, 2, 7, 1]).unwrap().all, ACTIONS);
        let why = may(&[1]).unwrap_err();
        assert!(why.contains("these were not named: 7, 9"), "{why}");
        let why = may(&[7, 9]).unwrap_err();
        assert!(why.contains("these were not named: 1"), "{why}");
        assert!(controller.machine.borrow().begun.is_empty());
    }
    // Without Namespace Management, those of other controllers are not known.
    let shared = nvme::Controller {
        multiple: 0b10,
        ..nvme::Controller::default()
    };
    let why = refusal(&Subsystem::new(&shared, vec![1]));
    assert!(why.contains("does not report those of its peers"), "{why}");
    let managed = nvme::Controller {
        commands: MANAGEMENT,
        ..shared
    };
    Subsystem::new(&managed, vec![1]).actions().unwrap();
}

/// A namespace that appears between the plan and the command is not erased.
#[test]
fn namespaces_are_looked_at_again_before_the_command() {
    let mut controller = nvme::Controller::default();
    Subsystem::new(&controller, vec![1]).actions().unwrap();
    controller.namespaces.push((2, 5));
    let subsystem = Subsystem::new(&controller, vec![1]);
    let end = sanitize(&subsystem, &World::new(), Action::BlockErase, false);
    assert!(matches!(end, End::Failed(_)), "{end:?}");
    assert!(controller.machine.borrow().begun.is_empty());
}

#[test]
fn actions_are_those_that_the_drive_reports() {
    for (capabilities, expected) in [
        (0b001, vec![Action::CryptoErase]),
        (0b010, vec![Action::BlockErase]),
        (0b110, vec![Action::BlockErase, Action::Overwrite]),
    ] {
        let controller = nvme::Controller {
            capabilities,
            ..nvme::Controller::default()
        };
        let subsystem = Subsystem::new(&controller, vec![1]);
        assert_eq!(subsystem.actions().unwrap().all, expected);
    }
    let drive = scsi::Drive {
        services: vec![1, 3],
        ..scsi::Drive::default()
    };
    let expected = [Action::CryptoErase, Action::Overwrite];
    assert_eq!(
        LogicalUnit(&drive).actions(),
        Ok(Actions::known(expected.into()))
    );
    for (word59, expected) in [
        (0x9000, vec![Action::BlockErase]),
        (0x7000, vec![Action::CryptoErase, Action::Overwrite]),
    ] {
        let disk = ata::Disk {
            word59,
            ..ata::Disk::default()
        };
        assert_eq!(
            Disk::behind(&disk).unwrap().actions(),
            Ok(Actions::known(expected))
        );
    }
}

/// Behind an adapter, the kernel may show another name of an ATA drive.
#[test]
fn ata_drives_tell_their_own_names() {
    let disk = ata::Disk::default();
    let disk = Disk::behind(&disk).expect("ATA");
    assert_eq!(disk.own_name(), Ok(Some("ST00 ZC1A".into())));
    let drive = scsi::Drive::default();
    assert_eq!(LogicalUnit(&drive).own_name(), Ok(None));
}

#[test]
fn drives_without_sanitize_are_refused() {
    let controller = nvme::Controller {
        capabilities: 0xe000_0000,
        ..nvme::Controller::default()
    };
    let why = refusal(&Subsystem::new(&controller, vec![1]));
    assert!(why.contains("no Sanitize"), "{why}");
    let drive = scsi::Drive {
        services: Vec::new(),
        ..scsi::Drive::default()
    };
    let why = refusal(&LogicalUnit(&drive));
    assert!(why.contains("no SANITIZE"), "{why}");
    for word59 in [0xe000, 0x1000, 0x0110] {
        let disk = ata::Disk {
            word59,
            ..ata::Disk::default()
        };
        let why = refusal(&Disk::behind(&disk).unwrap());
        assert!(why.contains("no ATA sanitize"), "{why}");
    }
}

/// An ATA drive without sanitize aborts the question about its state as any command that it does not know. That is not
/// the failure of an operation.
#[test]
fn a_drive_without_sanitize_has_not_failed() {
    let disk = ata::Disk {
        word59: 0,
        ..ata::Disk::default()
    };
    let drive = Disk::behind(&disk).unwrap();
    assert_eq!(drive.status().unwrap_err(), "it has no ATA sanitize");

    // The control: one that has it, and failed in it.
    let failed = ata::Disk::default();
    failed.machine.borrow_mut().doing = Doing::Failure;
    let state = Disk::behind(&failed).unwrap().status().unwrap().state;
    assert_eq!(state, State::Failed { mode: None });
}

/// A SCSI drive tells which logical units the command affects (MLU).
#[test]
fn other_logical_units_are_not_erased() {
    for (units, may) in [(0, true), (1, true), (2, false), (3, false)] {
        let drive = scsi::Drive {
            units,
            ..scsi::Drive::default()
        };
        let actions = LogicalUnit(&drive).actions();
        assert_eq!(actions.is_ok(), may, "{units}");
        if let Err(why) = actions {
            assert!(why.contains("other logical units"), "{why}");
        }
    }
}

/// Some firmware freezes the commands until the power is off. An antifreeze lock only prevents that.
#[test]
fn frozen_drives_are_refused_until_they_lose_power() {
    let disk = ata::Disk {
        antifreeze: true,
        ..ata::Disk::default()
    };
    let drive = Disk::behind(&disk).unwrap();
    disk.machine.borrow_mut().doing = Doing::Frozen;
    assert_eq!(drive.status().unwrap().state, State::Frozen);
    let End::Failed(why) = sanitize(&drive, &World::new(), Action::BlockErase, false) else {
        panic!("it is frozen");
    };
    assert!(why.contains("frozen until it is powered off"), "{why}");
    assert!(disk.machine.borrow().begun.is_empty());
    disk.machine.borrow_mut().lose_power();
    let end = sanitize(&drive, &World::new(), Action::BlockErase, false);
    assert_eq!(end, End::Done);
}

/// Without the registers nobody knows how far the drive is.
#[test]
fn adapters_that_hide_the_registers_are_refused() {
    for passes_on in [ata::PassesOn::None, ata::PassesOn::Some] {
        let disk = ata::Disk {
            passes_on,
            ..ata::Disk::default()
        };
        let why = Disk::behind(&disk).unwrap().status().unwrap_err();
        assert!(why.contains("registers"), "{why}");
        let end = sanitize(
            &Disk::behind(&disk).unwrap(),
            &World::new(),
            Action::BlockErase,
            false,
        );
        assert!(matches!(end, End::Stuck(_)), "{end:?}");
        assert!(disk.machine.borrow().begun.is_empty());
    }
}
