//! An invented job for tests, with drives of many outcomes.

use jiff::{Timestamp, ToSpan};
use squall_drives::io::QueueKind;
use squall_drives::{Health, Hidden, Identity, Kind, Storage};

use crate::record::{
    ContentKind, Drive, EraseMethod, Exchange, Extent, HealthRecord, JOURNAL, Job, Level, Machine,
    Note, Outcome, OwnErase, Pass, Plan, Purge, Sanitize, Scope, Tool, Transfer, Verification,
    Wipe,
};

pub const BEGAN: &str = "2026-11-22T09:30:00Z";

const SIZE: u64 = 4_000_787_030_016;

/// The time `seconds` after [`BEGAN`].
pub fn at(seconds: i64) -> Timestamp {
    let began: Timestamp = BEGAN.parse().expect("a time");
    began + seconds.seconds()
}

/// The job. Its drives: verified, incomplete, differs, interrupted, vanished, failed, overwritten.
pub fn job() -> Job {
    Job {
        format: JOURNAL.into(),
        tool: Tool {
            name: "squall".into(),
            version: "0.1.0".into(),
            engine: "vaes512".into(),
            kernel: "6.12.48".into(),
            host: "eraser-3".into(),
            machine: Some(Machine {
                vendor: Some("LENOVO".into()),
                product: Some("ThinkStation P3".into()),
                serial: Some("PF4ABCDE".into()),
            }),
        },
        id: "20261122T093000Z".into(),
        operator: Some("M. Rivera".into()),
        customer: Some("Northwind Clinic".into()),
        plan: Plan {
            passes: vec![ContentKind::Keystream],
            verify: Scope::Full,
            verify_each: false,
            keep_key: false,
        },
        drives: vec![
            verified(),
            incomplete(),
            differs(),
            interrupted(),
            vanished(),
            failed(),
            overwritten(),
        ],
    }
}

fn verified() -> Drive {
    let mut drive = drive("/dev/sdb", "WD-WX12A3456789", Outcome::Verified);
    drive.verification = Some(verification(SIZE));
    drive.level = Some(Level::Clear);
    drive
}

pub fn purge(failure: Option<&str>) -> Purge {
    Purge {
        began: Some(at(0)),
        ended: Some(at(60)),
        failure: failure.map(str::to_owned),
        ..Purge::asked(EraseMethod::NvmeFormat)
    }
}

/// A sanitize operation of a drive, after a power cut.
pub fn sanitized() -> Purge {
    let exchange = |seconds, sent: &str, answered: &str| Exchange {
        at: at(seconds),
        sent: sent.into(),
        answered: answered.into(),
    };
    let log = "Get Log Page (opcode 0x02), page 0x81";
    Purge {
        began: Some(at(0)),
        ended: Some(at(60)),
        sanitize: Some(Sanitize {
            found_under_way: true,
            accepted: Some(at(2)),
            own_name: None,
            exchanges: vec![
                exchange(1, log, "SPROG 0x2000, SSTAT 0x0002, SCDW10 0x0000000a"),
                exchange(59, log, "SPROG 0xffff, SSTAT 0x0101, SCDW10 0x0000000a"),
            ],
        }),
        ..Purge::asked(EraseMethod::NvmeSanitizeBlock)
    }
}

/// A drive that says why it cannot erase itself.
pub fn unsupported(reason: &str) -> OwnErase {
    let reason = reason.into();
    OwnErase::Unsupported { reason }
}

/// A drive that can erase itself, with all namespaces at these paths.
pub fn supported(targets: &[&str]) -> OwnErase {
    OwnErase::Supported {
        means: EraseMethod::NvmeSanitizeBlock,
        targets: targets.iter().map(Into::into).collect(),
    }
}

fn incomplete() -> Drive {
    let mut drive = drive("/dev/sdc", "WD-WX12A3456790", Outcome::Incomplete);
    let extents = (0..230).map(|index| Extent::new(81_920 * index, 4096));
    drive.passes[0].unwritten = extents.collect();
    let unreadable = vec![Extent::new(81_920, 512)];
    drive.verification = Some(Verification {
        unreadable,
        compared: SIZE - 512,
        ..verification(SIZE)
    });
    drive
}

fn differs() -> Drive {
    let mut drive = drive("/dev/nvme0n1", "S4EVNX0M123456", Outcome::Differs);
    drive.target.model = Some("Samsung SSD 970 EVO Plus 1TB".into());
    drive.target.flash = Some(true);
    let health = Health {
        healthy: Some(true),
        celsius: Some(47),
        power_on_hours: Some(8_760),
        power_cycles: Some(312),
        critical_warning: Some(0),
        percentage_used: Some(9),
        available_spare: Some(100),
        media_errors: Some(0),
        bytes_written: Some(48_123_456_000_000),
        ..Health::default()
    };
    drive.health.before = Some(health);
    drive.health.after = Some(Health {
        healthy: Some(false),
        critical_warning: Some(4),
        media_errors: Some(3),
        ..health
    });
    let differing = vec![Extent::new(1_048_577, 1), Extent::new(2_097_152, 40)];
    drive.verification = Some(Verification {
        differing,
        differing_bytes: 17,
        differing_unlisted: 3,
        ..verification(SIZE)
    });
    drive
}

/// The record of a verification of `drive`.
pub fn verification_of(job: &Job, drive: usize) -> Job {
    let mut drive = job.drives[drive].clone();
    drive.wipe = Some(Wipe::from_job(job));
    (drive.level, drive.health.before) = (None, None);
    Job {
        id: "20270114T081500Z".into(),
        operator: Some("K. Okafor".into()),
        drives: vec![drive],
        ..job.clone()
    }
}

fn interrupted() -> Drive {
    let mut drive = drive("/dev/sdd", "WD-WX12A3456791", Outcome::Interrupted);
    drive.passes[0].offset = SIZE / 3;
    drive.passes[0].ended = None;
    drive
}

fn vanished() -> Drive {
    let mut drive = interrupted();
    drive.target = identity("/dev/sde", "ZA1B2C3D");
    drive.outcome = Some(Outcome::Vanished);
    drive
}

fn failed() -> Drive {
    let mut drive = drive("/dev/sdf", "ZA1B2C3E", Outcome::Verified);
    drive.passes.clear();
    drive.transfer = None;
    let reason = "/dev/sdf: Device or resource busy".into();
    drive.outcome = Some(Outcome::Failed { reason });
    drive
}

fn overwritten() -> Drive {
    let mut drive = drive("/srv/images/old.img", "", Outcome::Overwritten);
    let target = &mut drive.target;
    (target.kind, target.number) = (Kind::File, "64769:131073".into());
    (target.model, target.serial, target.wwid, target.flash) = (None, None, None, None);
    (drive.asset, drive.health) = (None, HealthRecord::default());
    let text = "it is on btrfs, which writes elsewhere: old copies of it may be left".into();
    drive.notes.push(Note { at: at(1), text });
    drive
}

/// A drive that was overwritten in seven hours, without errors.
fn drive(path: &str, serial: &str, outcome: Outcome) -> Drive {
    let pass = Pass {
        content: ContentKind::Keystream,
        began: at(0),
        ended: Some(at(25_200)),
        seconds: 25_200.0,
        offset: SIZE,
        unwritten: Vec::new(),
        verification: None,
    };
    let (direct, queue) = (true, QueueKind::Ring);
    Drive {
        asset: Some("NW-004711".into()),
        hidden: Some(Hidden {
            hpa: 0,
            dco: Some(0),
        }),
        passes: vec![pass],
        outcome: Some(outcome),
        health: HealthRecord {
            before: Some(health(34, 0)),
            after: Some(health(41, 8)),
        },
        transfer: Some(Transfer { direct, queue }),
        ..Drive::new(identity(path, serial))
    }
}

fn health(celsius: i64, reallocated: u64) -> Health {
    Health {
        healthy: Some(true),
        celsius: Some(celsius),
        power_on_hours: Some(31_204),
        power_cycles: Some(87),
        reallocated_sectors: Some(reallocated),
        pending_sectors: Some(0),
        uncorrectable_sectors: Some(0),
        ..Health::default()
    }
}

fn verification(compared: u64) -> Verification {
    Verification {
        began: at(25_200),
        ended: Some(at(48_600)),
        seconds: 23_400.0,
        offset: SIZE,
        compared,
        ..Verification::default()
    }
}

fn identity(path: &str, serial: &str) -> Identity {
    Identity {
        given: path.into(),
        path: path.into(),
        kind: Kind::Disk,
        size: SIZE,
        sector: 4096,
        model: Some("WDC WD40EFRX-68N32N0".into()),
        serial: Some(serial.into()),
        wwid: Some("naa.50014ee2b5c6d7e8".into()),
        number: "8:16".into(),
        flash: Some(false),
        storage: Storage::Drive,
    }
}
