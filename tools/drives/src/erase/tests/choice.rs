//! Tests which way is chosen of those that a drive has, and what a plan says of it.

use super::machine::{Doing, Machine};
use super::{World, ata, nvme, sanitize, scsi};
use crate::erase::ata::Disk;
use crate::erase::nvme::Subsystem;
use crate::erase::sanitize::ACTIONS;
use crate::erase::sanitize::{Actions, End, Sanitizer, State};
use crate::erase::scsi::LogicalUnit;
use crate::erase::{
    Action, CommandSet, EraseChoice, EraseMethod, SanitizeSupport, SupportedErases,
};

use Action::{BlockErase, CryptoErase, Overwrite};

/// An idle drive on flash that tells `actions`, and has another way perhaps.
fn supported(actions: &[Action], other: Option<EraseMethod>) -> SupportedErases {
    let sanitizing = SanitizeSupport {
        set: CommandSet::Ata,
        actions: Actions::known(actions.to_vec()),
        state: State::Idle {
            last: None,
            succeeded: None,
        },
    };
    SupportedErases {
        sanitize: Some(match actions {
            [] => Err("no sanitize".into()),
            _ => Ok(sanitizing),
        }),
        other: other.ok_or_else(|| "no other".to_owned()),
        flash: Some(true),
    }
}

/// What `drive`, a model, tells.
fn told(set: CommandSet, drive: &dyn Sanitizer, flash: Option<bool>) -> SupportedErases {
    SupportedErases {
        sanitize: Some(SanitizeSupport::new(set, drive)),
        other: Err("no other".into()),
        flash,
    }
}

#[test]
fn what_reaches_most_in_the_shortest_time_is_chosen() {
    let format = Some(EraseMethod::NvmeFormat);
    let auto = |actions: &[Action], other| supported(actions, other).choose(EraseChoice::Auto);
    assert_eq!(auto(&ACTIONS, format), Ok(EraseMethod::AtaSanitizeBlock));
    let without_blocks = [CryptoErase, Overwrite];
    assert_eq!(
        auto(&without_blocks, format),
        Ok(EraseMethod::AtaSanitizeCrypto)
    );
    assert_eq!(auto(&[Overwrite], format), Ok(EraseMethod::NvmeFormat));
    assert_eq!(
        auto(&[Overwrite], None),
        Ok(EraseMethod::AtaSanitizeOverwrite)
    );
    assert_eq!(auto(&[], format), Ok(EraseMethod::NvmeFormat));
    assert_eq!(auto(&[], None).unwrap_err(), "no sanitize; no other");

    let all = supported(&ACTIONS, format);
    for (how, means) in [
        (EraseChoice::Block, EraseMethod::AtaSanitizeBlock),
        (EraseChoice::Crypto, EraseMethod::AtaSanitizeCrypto),
        (EraseChoice::Overwrite, EraseMethod::AtaSanitizeOverwrite),
        (EraseChoice::Format, EraseMethod::NvmeFormat),
    ] {
        assert_eq!(all.choose(how), Ok(means));
    }
    let why = all.choose(EraseChoice::Discard).unwrap_err();
    assert_eq!(why, "it has no secure discard");
    let why = supported(&[BlockErase], None)
        .choose(EraseChoice::Crypto)
        .unwrap_err();
    assert!(
        why.contains("not sanitize itself by crypto erase, only by block erase"),
        "{why}"
    );
}

/// Block erase is for flash. A magnetic drive gets it only if it tells nothing else.
#[test]
fn magnetic_drives_replace_their_key_or_overwrite_themselves() {
    for (actions, expected) in [
        (&ACTIONS[..], EraseMethod::AtaSanitizeCrypto),
        (&[BlockErase, Overwrite], EraseMethod::AtaSanitizeOverwrite),
        (&[BlockErase], EraseMethod::AtaSanitizeBlock),
    ] {
        let mut drive = supported(actions, None);
        drive.flash = Some(false);
        assert_eq!(drive.choose(EraseChoice::Auto), Ok(expected));
        drive.flash = None;
        let block = Ok(EraseMethod::AtaSanitizeBlock);
        assert_eq!(drive.choose(EraseChoice::Auto), block, "as for flash");
    }
}

/// A SCSI drive whose last operation failed tells nothing but that. A magnetic one has no block erase, so it could not
/// be freed by that.
#[test]
fn after_a_failure_the_way_suits_the_medium() {
    let failed = |services: &[u8]| {
        let machine = Machine {
            doing: Doing::Failure,
            last: Some((Overwrite, true)),
            ..Machine::default()
        };
        scsi::Drive {
            machine: machine.into(),
            services: services.to_vec(),
            ..scsi::Drive::default()
        }
    };
    for (flash, services, expected) in [
        (Some(false), &[1][..], EraseMethod::ScsiSanitizeOverwrite),
        (None, &[1, 2, 3], EraseMethod::ScsiSanitizeOverwrite),
        (Some(true), &[2, 3], EraseMethod::ScsiSanitizeBlock),
    ] {
        let drive = failed(services);
        let unit = LogicalUnit(&drive);
        let supported = told(CommandSet::Scsi, &unit, flash);
        assert_eq!(supported.choose(EraseChoice::Auto), Ok(expected));
        let words = supported.words(EraseChoice::Auto).expect("a way");
        assert!(
            words.starts_with("perhaps supported: SCSI SANITIZE with ")
                && words.contains("its last operation failed"),
            "{words}"
        );
        let action = expected.action().expect("an operation");
        assert_eq!(sanitize(&unit, &World::new(), action, false), End::Done);
    }
    let magnetic = failed(&[1]);
    let unit = LogicalUnit(&magnetic);
    let why = told(CommandSet::Scsi, &unit, Some(false)).choose(EraseChoice::Block);
    assert!(why.is_err_and(|why| why.ends_with("only by crypto erase or overwrite")));

    // The control: the magnetic drive refuses block erase, and stays as it was.
    let end = sanitize(&unit, &World::new(), BlockErase, false);
    assert!(matches!(end, End::Locked(_)), "{end:?}");
    assert_eq!(magnetic.machine.borrow().doing, Doing::Failure);
}

/// A drive at work does what somebody has told it, not what this user chooses. Only NVMe drives tell what that is.
#[test]
fn a_plan_tells_what_a_drive_is_at() {
    let begun = || Machine {
        doing: Doing::Processing,
        last: Some((Overwrite, true)),
        progress: 0x8000,
        step: 0,
        ..Machine::default()
    };
    let drive = scsi::Drive {
        machine: begun().into(),
        ..scsi::Drive::default()
    };
    let disk = ata::Disk {
        machine: begun().into(),
        ..ata::Disk::default()
    };
    let controller = nvme::Controller {
        machine: begun().into(),
        ..nvme::Controller::default()
    };
    let disk = Disk::behind(&disk).expect("ATA");
    let subsystem = Subsystem::new(&controller, vec![1]);
    let scsi = told(CommandSet::Scsi, &LogicalUnit(&drive), Some(true));
    let ata = told(CommandSet::Ata, &disk, Some(true));
    let nvme = told(CommandSet::Nvme, &subsystem, Some(true));
    for (drive, how, known, words) in [
        (
            &scsi,
            EraseChoice::Crypto,
            EraseMethod::ScsiSanitize,
            "SCSI SANITIZE with an operation that the drive does not tell; squall waits for its end",
        ),
        (
            &ata,
            EraseChoice::Auto,
            EraseMethod::AtaSanitize,
            "ATA sanitize with an operation that the drive does not tell; squall waits for its end",
        ),
        (
            &nvme,
            EraseChoice::Overwrite,
            EraseMethod::NvmeSanitizeOverwrite,
            "NVMe Sanitize with overwrite; squall waits for its end",
        ),
        (
            &nvme,
            EraseChoice::Auto,
            EraseMethod::NvmeSanitizeOverwrite,
            "NVMe Sanitize with overwrite; squall waits for its end, then begins NVMe Sanitize with block erase",
        ),
    ] {
        assert_eq!(drive.known(how), Ok(known));
        let expected = format!("under way, at 50 %: {words}");
        assert_eq!(drive.words(how), Ok(expected));
    }

    // The control: the same drive, idle.
    let idle = scsi::Drive::default();
    let idle = told(CommandSet::Scsi, &LogicalUnit(&idle), Some(true));
    assert_eq!(
        idle.words(EraseChoice::Crypto).as_deref(),
        Ok("supported: SCSI SANITIZE with cryptographic erase (--purge)")
    );
}
