//! Finds the target that an earlier run recorded.

use squall_drives::{Identity, Kind, Target, shown};
use squall_tools::Failure;

/// Finds the target that `record` of an earlier run describes.
///
/// A drive with a lasting serial number is found under any path. Only one drive may have that
/// number and size. It then counts as given by a stable name. Anything else must be at its old path
/// and of its old size; a file must also have its old inode number.
pub fn find(record: &Identity) -> Result<Target, Failure> {
    let found = match record.lasting_serial() {
        Some(serial) => find_drive(record, serial),
        None => find_in_place(record),
    };
    found.map(recognised)
}

/// `found`, where a lasting serial number counts as a stable name.
fn recognised(mut found: Target) -> Target {
    found.has_stable_name |= found.identity.lasting_serial().is_some();
    found
}

fn find_in_place(record: &Identity) -> Result<Target, Failure> {
    let found = Target::find(&record.path)?;
    if is_same_place(record, &found.identity) {
        Ok(found)
    } else {
        Err(Failure::Runtime(format!(
            "{}: it is not the target that was wiped before: name the targets, and start again",
            shown(&record.path)
        )))
    }
}

/// The only drive with `record`'s serial number and size.
fn find_drive(record: &Identity, serial: &str) -> Result<Target, Failure> {
    let mut found = Target::all()?;
    found.retain(|target| is_same_drive(record, &target.identity));
    let drive = format!(
        "a drive with serial number {serial} and {} bytes",
        record.size
    );
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::Runtime(format!(
            "{drive} is not attached: attach it, and try again"
        ))),
        _ => {
            let names: Vec<String> = found
                .iter()
                .map(|target| shown(&target.identity.path))
                .collect();
            Err(Failure::Runtime(format!(
                "{drive} is there more than once ({}): detach those that are not meant",
                names.join(", ")
            )))
        }
    }
}

fn is_same_drive(record: &Identity, now: &Identity) -> bool {
    let is_same_name = match (&record.wwid, &now.wwid) {
        (Some(then), Some(now)) => then == now,
        _ => true,
    };
    is_same_name
        && record.kind == now.kind
        && record.serial == now.serial
        && record.size == now.size
}

/// Whether both may be the same target, at the same path. A file must have the same inode number.
fn is_same_place(record: &Identity, now: &Identity) -> bool {
    let is_same_file = match record.kind {
        // A file system's device number may change, so only inode numbers are compared.
        Kind::File => number_in_file_system(record) == number_in_file_system(now),
        _ => true,
    };
    let is_same_wwid = record.wwid == now.wwid;
    is_same_file && is_same_wwid && record.kind == now.kind && record.size == now.size
}

/// The inode number of a file.
fn number_in_file_system(file: &Identity) -> Option<&str> {
    Some(file.number.rsplit_once(':')?.1)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::path::Path;

    use squall_testing::loops::Lab;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn identity(path: &Path) -> Identity {
        Target::find(path).expect("a target").identity
    }

    #[test]
    fn a_file_must_have_its_inode_number() {
        let lab = Lab::new();
        let image = lab.image("image", MIB);
        let record = identity(&image);
        let found = find(&record).unwrap();
        assert_eq!(found.identity, record);
        assert!(found.has_stable_name);

        let resize = |size| {
            let file = OpenOptions::new().write(true).open(&image).unwrap();
            file.set_len(size).unwrap();
        };
        resize(MIB + 1);
        let text = find(&record).unwrap_err().into_text();
        assert!(
            text.contains("not the target that was wiped before"),
            "{text}"
        );
        resize(MIB);
        find(&record).unwrap();

        fs::rename(lab.image("other", MIB), &image).unwrap();
        assert!(find(&record).is_err());
    }

    #[test]
    fn lasting_serial_numbers_count_as_stable_names() {
        let lab = Lab::new();
        let image = lab.image("image", MIB);
        for (serial, expected) in [
            (Some("WD-WX12A3456789-part1"), true),
            (Some("diskseq-12"), false),
            (None, false),
        ] {
            let mut target = Target::find(&image).unwrap();
            target.has_stable_name = false;
            target.identity.serial = serial.map(str::to_owned);
            assert_eq!(recognised(target).has_stable_name, expected, "{serial:?}");
        }
    }

    #[test]
    fn a_drive_is_found_by_its_serial_number() {
        let record = Identity {
            given: "/dev/sdb".into(),
            path: "/dev/sdb".into(),
            kind: Kind::Disk,
            size: 4_000_787_030_016,
            sector: 512,
            model: None,
            serial: Some("WD-WX12A3456789".into()),
            wwid: Some("naa.50014ee2b5d0a1f3".into()),
            number: "8:16".into(),
            flash: Some(false),
        };
        let moved = Identity {
            path: "/dev/sdf".into(),
            number: "8:80".into(),
            ..record.clone()
        };
        assert!(is_same_drive(&record, &moved));
        let others = [
            Identity {
                serial: Some("WD-WX12A3456780".into()),
                ..moved.clone()
            },
            Identity {
                size: 4_000_787_030_528,
                ..moved.clone()
            },
            Identity {
                wwid: Some("naa.50014ee2b5d0a1f4".into()),
                ..moved.clone()
            },
            Identity {
                kind: Kind::Partition,
                ..moved.clone()
            },
        ];
        for other in others {
            assert!(!is_same_drive(&record, &other), "{other:?}");
        }
        let text = find(&record).unwrap_err().into_text();
        assert!(
            text.contains("WD-WX12A3456789 and 4000787030016 bytes is not attached"),
            "{text}"
        );
    }
}
