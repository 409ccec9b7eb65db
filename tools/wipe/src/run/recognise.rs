//! Checks that a drive to be resumed is the recorded one, by the bytes that were written to it, and by the name under
//! which it began to erase itself. Serial numbers do not suffice, because they may be those of a dock, and inode numbers
//! are reused.

use squall_drives::io::{Buffer, Device, Direction};
use squall_drives::{Target, erase, shown};
use squall_tools::Failure;

use crate::content::Content;
use crate::keys::Keys;
use crate::pipeline::TRANSFER;
use crate::ranges::Ranges;
use crate::record::{Drive, Extent};

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
        contents.push(Content::of(pass.content, key).ok_or_else(|| other(drive))?);
    }
    let pass = &drive.passes[kept];
    let refused = Ranges::before(&pass.unwritten, u64::MAX);
    let sector = drive.target.sector as usize;
    for place in places(pass.offset.min(device.end_of_units())) {
        let mut found = Buffer::new(TRANSFER);
        let found = &mut found[..place.length as usize];
        if device
            .transfer(Direction::Read, found, place.offset)
            .is_err()
        {
            continue;
        }
        let expected: Vec<Buffer> = contents.iter_mut().map(|c| bytes(c, place)).collect();
        for (at, found) in (0..).step_by(sector).zip(found.chunks(sector)) {
            let is_one = |expected: &Buffer| expected[at..at + found.len()] == *found;
            let extent = Extent {
                offset: place.offset + at as u64,
                length: found.len() as u64,
            };
            if !expected.iter().any(is_one) && !refused.covers(extent) {
                return Err(other(drive));
            }
        }
    }
    Ok(())
}

/// Whether `target`, open as `device`, is known to be the drive that began to sanitize itself. Fails if it is another.
pub fn is_one_that_erased_itself(
    drive: &Drive,
    target: &Target,
    device: &Device,
) -> Result<bool, Failure> {
    let Some(sanitize) = drive
        .purge
        .as_ref()
        .and_then(|purge| purge.sanitize.as_ref())
    else {
        return Ok(true);
    };
    let now = erase::chosen(target, device.file(), &[]).and_then(|drive| drive.own_name());
    compare(sanitize.own_name.as_deref(), now).map_err(|now| {
        Failure::Runtime(format!(
            "{}: it is {now}, another drive than the one that has erased itself: nothing was written now: attach \
             that one, and resume again",
            shown(&target.identity.path)
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
    let place = |offset: u64| Extent {
        offset,
        length: length.min(end - offset),
    };
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
