//! An invented job for tests, with drives of many outcomes.

use jiff::{Timestamp, ToSpan};
use squall_drives::io::QueueKind;
use squall_drives::{Hidden, Identity, Kind};

use crate::record::{
    ContentKind, Drive, Extent, JOURNAL, Job, Means, Method, Note, Outcome, Pass, Plan, Purge,
    Scope, Tool, Transfer, Verification,
};

/// When everything began.
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
        },
        id: "20261122T093000Z".into(),
        plan: Plan {
            method: Method::Random,
            passes: 1,
            verify: Scope::Full,
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
    drive
}

/// A drive's own erase.
pub fn purge(failure: Option<&str>) -> Purge {
    Purge {
        means: Means::NvmeFormat,
        began: Some(at(0)),
        ended: Some(at(60)),
        failure: failure.map(str::to_owned),
    }
}

fn incomplete() -> Drive {
    let mut drive = drive("/dev/sdc", "WD-WX12A3456790", Outcome::Incomplete);
    let extents = (0..230).map(|index| Extent {
        offset: 81_920 * index,
        length: 4096,
    });
    drive.passes[0].unwritten = extents.collect();
    let unreadable = vec![Extent {
        offset: 81_920,
        length: 512,
    }];
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
    let differing = vec![
        Extent {
            offset: 1_048_577,
            length: 1,
        },
        Extent {
            offset: 2_097_152,
            length: 40,
        },
    ];
    drive.verification = Some(Verification {
        differing,
        differing_bytes: 17,
        differing_unlisted: 3,
        ..verification(SIZE)
    });
    drive
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
    };
    let (direct, queue) = (true, QueueKind::Ring);
    Drive {
        target: identity(path, serial),
        hidden: Some(Hidden {
            hpa: 0,
            dco: Some(0),
        }),
        passes: vec![pass],
        verification: None,
        outcome: Some(outcome),
        purge: None,
        transfer: Some(Transfer { direct, queue }),
        notes: Vec::new(),
    }
}

fn verification(compared: u64) -> Verification {
    Verification {
        scope: Scope::Full,
        began: at(25_200),
        ended: Some(at(48_600)),
        seconds: 23_400.0,
        offset: SIZE,
        compared,
        differing_bytes: 0,
        differing: Vec::new(),
        differing_unlisted: 0,
        unreadable: Vec::new(),
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
    }
}
