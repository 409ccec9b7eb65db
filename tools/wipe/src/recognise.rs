//! Finds the target that an earlier run recorded, and checks that a drive to be resumed is the recorded one, by the bytes
//! that were written to it, and by the name under which it began to erase itself. Serial numbers do not suffice, because
//! they may be those of a dock, and inode numbers are reused.

use squall_drives::io::{Buffer, Device, Direction};
use squall_drives::{Identity, Kind, Storage, Target, erase, shown};
use squall_tool_base::Failure;

use crate::content::Content;
use crate::keys::Keys;
use crate::pipeline::TRANSFER;
use crate::ranges::Ranges;
use crate::record::{Drive, Extent};

/// Finds the target that `record` of an earlier run describes.
///
/// A drive with a lasting serial number is found under any path. Only one drive may have that
/// number and size. It then counts as given by a stable name. Anything else must be at its old path
/// and of its old size; a file must also have its old inode number.
pub fn find(record: &Identity) -> Result<Target, Failure> {
    match record.lasting_serial() {
        Some(serial) => find_drive(record, serial),
        None => find_in_place(record),
    }
}

fn find_in_place(record: &Identity) -> Result<Target, Failure> {
    let found = Target::find(&record.path)?;
    match is_same_place(record, &found.identity) {
        true => Ok(found),
        false => Err(Failure::Runtime(format!(
            "{}: it is not the target that was wiped before: name the targets, and start again",
            shown(&record.path)
        ))),
    }
}

/// The only drive with `record`'s serial number and size.
fn find_drive(record: &Identity, serial: &str) -> Result<Target, Failure> {
    let mut found = Target::all()?;
    found.retain(|target| is_same_drive(record, &target.identity));
    keep_one_path(&mut found, record);
    let size = record.size;
    let drive = format!("a drive with serial number {serial} and {size} bytes");
    let names = found.iter().map(|target| shown(&target.identity.path));
    let why = match &names.collect::<Vec<_>>()[..] {
        [_] => {
            let mut drive = found.remove(0);
            drive.has_stable_name = true;
            return Ok(drive);
        }
        [] => format!("{drive} is not attached: attach it, and try again"),
        names => format!(
            "{drive} is there more than once ({}): detach those that are not meant",
            names.join(", ")
        ),
    };
    Err(Failure::Runtime(why))
}

/// If `found` are certainly paths to one drive, keeps one of them: the recorded one, or else the first.
fn keep_one_path(found: &mut Vec<Target>, record: &Identity) {
    let is_recorded = |target: &Target| target.identity.path == record.path;
    found.sort_by_key(|target| !is_recorded(target));
    if let Some((one, others)) = found.split_first()
        && others.iter().all(|other| one.is_another_path_to(other))
    {
        found.truncate(1);
    }
}

fn is_same_drive(record: &Identity, now: &Identity) -> bool {
    let is_same_name = match (&record.wwid, &now.wwid) {
        (Some(then), Some(now)) => then == now,
        _ => true,
    };
    is_same_name
        && is_same_kind(record, now)
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
    is_same_file && is_same_wwid && is_same_kind(record, now) && record.size == now.size
}

/// Whether both are of one kind. Older journals, which do not say what holds the bytes, call virtual devices drives.
fn is_same_kind(record: &Identity, now: &Identity) -> bool {
    let is_older = record.storage == Storage::Unknown && record.kind == Kind::Disk;
    record.kind == now.kind || is_older && now.kind == Kind::Virtual
}

fn number_in_file_system(file: &Identity) -> Option<&str> {
    Some(file.number.rsplit_once(':')?.1)
}

/// Fails unless `device` holds what was last recorded as written, at the beginning and the end of
/// that part. What cannot be read is skipped.
///
/// A later pass may have overwritten more than was recorded, so its bytes are accepted too.
pub fn check_contents(drive: &Drive, device: &Device, keys: Option<&Keys>) -> Result<(), Failure> {
    let Some(kept) = drive.passes.iter().rposition(|pass| pass.offset > 0) else {
        return Ok(());
    };
    let mut contents = Vec::new();
    for (number, pass) in (1..).zip(&drive.passes).skip(kept) {
        let key = keys.and_then(|keys| keys.of_pass(number));
        contents.push(Content::new(pass.content, key).ok_or_else(|| other(drive))?);
    }
    let pass = &drive.passes[kept];
    let refused = Ranges::before(&pass.unwritten, u64::MAX);
    let sector = drive.target.sector as usize;
    for place in places(pass.offset.min(device.end_of_units())) {
        let mut found = Buffer::new(TRANSFER);
        let found = &mut found[..place.length as usize];
        let read = device.transfer(Direction::Read, found, place.offset);
        if read.is_err() {
            continue;
        }
        let expected: Vec<Buffer> = contents.iter_mut().map(|c| bytes(c, place)).collect();
        for (at, found) in (0..).step_by(sector).zip(found.chunks(sector)) {
            let is_one = |expected: &Buffer| expected[at..at + found.len()] == *found;
            let extent = Extent::new(place.offset + at as u64, found.len() as u64);
            if !expected.iter().any(is_one) && !refused.covers(extent) {
                return Err(other(drive));
            }
        }
    }
    Ok(())
}

/// Whether `device` is known to be the drive that began to sanitize itself. Fails if it is another.
pub fn is_one_that_erased_itself(drive: &Drive, device: &Device) -> Result<bool, Failure> {
    let purge = drive.purge.as_ref();
    let Some(sanitize) = purge.and_then(|purge| purge.sanitize.as_ref()) else {
        return Ok(true);
    };
    let now = erase::chosen(device, &[]).and_then(|drive| drive.own_name());
    compare(sanitize.own_name.as_deref(), now).map_err(|now| {
        Failure::Runtime(format!(
            "{}: it is {now}, another drive than the one that has erased itself: nothing was written now: attach \
             that one, and resume again",
            shown(&device.target().identity.path)
        ))
    })
}

/// Whether a drive whose own name was `then` is known to be the one whose own name is `now`. Fails with that name if
/// they are two.
fn compare(then: Option<&str>, now: Result<Option<String>, String>) -> Result<bool, String> {
    match (then, now) {
        (Some(then), Ok(Some(now))) if then != now => Err(now),
        (then, Ok(now)) => Ok(then.is_some() == now.is_some()),
        (_, Err(_)) => Ok(false),
    }
}

/// The first and the last transfer before `end`.
fn places(end: u64) -> Vec<Extent> {
    let length = TRANSFER as u64;
    let last = end.saturating_sub(1) / length * length;
    let place = |offset: u64| Extent::new(offset, length.min(end - offset));
    match end {
        0 => Vec::new(),
        _ => vec![place(0), place(last)],
    }
}

fn bytes(content: &mut Content, place: Extent) -> Buffer {
    let mut buffer = Buffer::new(TRANSFER);
    content.fill(place.offset, &mut buffer[..place.length as usize]);
    buffer
}

fn other(drive: &Drive) -> Failure {
    Failure::Runtime(format!(
        "{}: its contents are not those written before the interruption: it is another drive, or \
         somebody has written to it: nothing was written now; start again",
        drive.target.path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::fixture;

    #[test]
    fn a_drive_is_found_by_its_serial_number() {
        let record = fixture::job().drives[0].target.clone();
        let moved = Identity {
            path: "/dev/sdf".into(),
            number: "8:80".into(),
            ..record.clone()
        };
        assert!(is_same_drive(&record, &moved));
        let changes: [fn(&mut Identity); 4] = [
            |it| it.serial = Some("WD-WX12A3456780".into()),
            |it| it.size += 512,
            |it| it.wwid = Some("naa.50014ee2b5d0a1f4".into()),
            |it| it.kind = Kind::Partition,
        ];
        for change in changes {
            let mut other = moved.clone();
            change(&mut other);
            assert!(!is_same_drive(&record, &other), "{other:?}");
        }
        let text = find(&record).unwrap_err().into_text();
        let words = "WD-WX12A3456789 and 4000787030016 bytes is not attached";
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn a_drive_is_known_by_its_own_name() {
        let name = |name: &str| Ok(Some(name.to_owned()));
        for (then, now, expected) in [
            (Some("A"), name("A"), Ok(true)),
            (Some("A"), name("B"), Err("B".to_owned())),
            // With nothing to compare, an ATA drive is not known.
            (None, name("B"), Ok(false)),
            (Some("A"), Ok(None), Ok(false)),
            (Some("A"), Err("it does not answer".to_owned()), Ok(false)),
            (None, Err("it does not answer".to_owned()), Ok(false)),
            // The kernel's names are the drive's own.
            (None, Ok(None), Ok(true)),
        ] {
            assert_eq!(compare(then, now), expected, "{then:?}");
        }
    }
}
