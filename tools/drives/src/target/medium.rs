//! Finds devices that lead to the same medium: a drive with two paths has a device for each. Whoever uses the one uses
//! the other, and the kernel does not see that.
//!
//! Names decide, as the kernel has them from the drive: the worldwide identifier, or else serial number and model. Where
//! they do not suffice, as with drives of virtual machines that have none, the contents do: devices that hold different
//! bytes are two media.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{Mode, OFlags};

use super::device::{Device, Number};
use super::drive;
use crate::identity::ATTACHMENT;
use crate::io::Buffer;

/// What the kernel knows of a whole device that tells media apart.
#[derive(Clone, Debug)]
struct Names {
    wwid: Option<String>,
    /// The maker's, or none.
    serial: Option<String>,
    model: Option<String>,
    /// Length in bytes.
    size: u64,
}

/// How two devices are alike that may lead to the same medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// They certainly do.
    Same,
    /// Their names do not tell, for this reason.
    Alike(&'static str),
}

impl Names {
    fn of(device: &Device) -> Names {
        Names {
            wwid: drive::wwid(device),
            serial: drive::serial(device).filter(|serial| !serial.starts_with(ATTACHMENT)),
            model: drive::model(device),
            size: device.size(),
        }
    }

    /// How both are alike; `None` if they are two media.
    fn compare(&self, other: &Names) -> Option<Match> {
        let is_equal =
            |one: &Option<String>, other: &Option<String>| Some(one.as_ref()? == other.as_ref()?);
        let serial = is_equal(&self.serial, &other.serial);
        let is_alike =
            self.size == other.size && is_equal(&self.model, &other.model) != Some(false);
        match (is_equal(&self.wwid, &other.wwid), serial) {
            (Some(true), Some(true) | None) if self.size == other.size => Some(Match::Same),
            (Some(true), _) => Some(Match::Alike("their worldwide identifiers are equal")),
            (Some(false), _) | (None, Some(false)) => None,
            (None, Some(true)) if is_alike => Some(Match::Alike(
                "their serial numbers and sizes are equal, and one has no worldwide identifier",
            )),
            (None, None) if is_alike => Some(Match::Alike(
                "they have the same size, and no name that tells them apart",
            )),
            _ => None,
        }
    }
}

/// The whole devices of this machine that stand on no others: each drive, by each of its paths.
pub(crate) struct Media(Vec<(Device, Names)>);

impl Media {
    pub fn all() -> io::Result<Media> {
        let all = Device::all()?.into_iter();
        let lowest = all.filter(|device| device.size() > 0 && is_lowest(device));
        Ok(Media(
            lowest.map(|it| (it.clone(), Names::of(&it))).collect(),
        ))
    }

    /// The other devices that lead, or may lead, to the medium of the whole device `disk`.
    fn matches(&self, disk: &Device) -> Vec<(Device, Match)> {
        let own = self.0.iter().find(|(device, _)| device == disk);
        let Some((_, own)) = own else {
            return Vec::new();
        };
        let others = self.0.iter().filter(|(device, _)| device != disk);
        let alike =
            others.filter_map(|(device, names)| Some((device.clone(), own.compare(names)?)));
        alike.collect()
    }

    /// The other devices that certainly lead to the medium of the whole device `disk`.
    pub fn other_paths(&self, disk: &Device) -> Vec<Device> {
        let all = self.matches(disk).into_iter();
        let same = all.filter(|(_, how)| *how == Match::Same);
        same.map(|(device, _)| device).collect()
    }

    /// The devices that may lead to the medium of the whole device `disk` as far as their names tell, and why.
    pub fn perhaps_other_paths(&self, disk: &Device) -> Vec<(Device, &'static str)> {
        let all = self.matches(disk).into_iter();
        let alike = all.filter_map(|(device, how)| match how {
            Match::Same => None,
            Match::Alike(why) => Some((device, why)),
        });
        alike.collect()
    }
}

/// Whether both whole devices lead to the same medium, or nothing tells that they do not.
pub(crate) fn is_same(one: &Device, other: &Device) -> bool {
    if one == other {
        return true;
    }
    if !is_lowest(one) || !is_lowest(other) {
        return false;
    }
    match Names::of(one).compare(&Names::of(other)) {
        Some(Match::Same) => true,
        Some(Match::Alike(_)) => !are_contents_different(one, other),
        None => false,
    }
}

/// Whether both whole devices are certainly two paths to the same medium.
pub(crate) fn are_two_paths(one: &Device, other: &Device) -> bool {
    let are_two = one != other && is_lowest(one) && is_lowest(other);
    are_two && Names::of(one).compare(&Names::of(other)) == Some(Match::Same)
}

/// Whether `device` is a whole device that stands on no other device or file, as far as the kernel tells.
fn is_lowest(device: &Device) -> bool {
    let stands_on_others = device.has("dm") || device.has("loop") || device.has_entries("slaves");
    device.partition().is_none() && !stands_on_others
}

/// How many places of two devices are compared, and how many bytes at each.
const PLACES: u64 = 16;
const LENGTH: u64 = 64 << 10;

/// Whether the contents of both show that they are two media. Both are read twice, past the page cache: the first time
/// has the kernel write to the medium what it has kept back. What somebody writes to meanwhile differs from itself, too,
/// and tells nothing.
pub(crate) fn are_contents_different(one: &Device, other: &Device) -> bool {
    let read = || {
        let size = one.size().min(other.size());
        let (one, other) = (open(one)?, open(other)?);
        let [first, second] = [(); 2].map(|()| Some((sample(&one, size)?, sample(&other, size)?)));
        Some((first?, second?))
    };
    read().is_some_and(|(before, after)| before == after && after.0 != after.1)
}

/// Bytes at places from the beginning to the end of `size` bytes; `None` if one cannot be read.
fn sample(device: &File, size: u64) -> Option<Vec<u8>> {
    let unit = 4096;
    let length = LENGTH.min(size / unit * unit);
    let mut bytes = Vec::new();
    for place in 0..PLACES {
        let mut buffer = Buffer::new(length as usize);
        let offset = (size - length) * place / (PLACES - 1) / unit * unit;
        device.read_exact_at(&mut buffer, offset).ok()?;
        bytes.extend_from_slice(&buffer);
    }
    Some(bytes)
}

/// Opens `device` to read past the page cache; `None` if its node belongs to another device.
fn open(device: &Device) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: File = rustix::fs::open(device.path(), flags, Mode::empty())
        .ok()?
        .into();
    let is_it = Number::new(file.metadata().ok()?.rdev()) == device.number;
    is_it.then_some(file)
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;

    #[test]
    fn names_tell_media_apart_as_far_as_they_go() {
        let names = |wwid: &str, serial: &str, model: &str, size| {
            let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let [wwid, serial, model] = [wwid, serial, model].map(known);
            Names {
                wwid,
                serial,
                model,
                size,
            }
        };
        let drive = names("naa.1", "S1", "M", 8);
        let virtual_drive = names("", "", "", 8);
        let stick = names("", "S1", "M", 8);
        let is_alike = |one: &Names, other: &Names| {
            let [found, reverse] = [one.compare(other), other.compare(one)];
            assert_eq!(found, reverse);
            found.map(|found| found != Match::Same)
        };
        for (one, other, expected) in [
            (&drive, &drive, Some(false)),
            // The second path does not show the serial number.
            (&drive, &names("naa.1", "", "M", 8), Some(false)),
            // One of its paths does not know yet that it was enlarged.
            (&drive, &names("naa.1", "S1", "M", 9), Some(true)),
            // A maker who gives all drives one identifier.
            (&drive, &names("naa.1", "S2", "M", 8), Some(true)),
            // Units of an array that have its serial number.
            (&drive, &names("naa.2", "S1", "M", 8), None),
            (&drive, &names("naa.2", "S2", "M", 8), None),
            (&drive, &stick, Some(true)),
            (&stick, &stick, Some(true)),
            (&stick, &names("", "S2", "M", 8), None),
            (&stick, &names("", "S1", "N", 8), None),
            (&stick, &names("", "S1", "M", 9), None),
            (&stick, &virtual_drive, Some(true)),
            (&virtual_drive, &virtual_drive, Some(true)),
            (&virtual_drive, &names("", "", "", 9), None),
            (&virtual_drive, &names("", "", "M", 8), Some(true)),
        ] {
            assert_eq!(is_alike(one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn samples_reach_from_the_beginning_to_the_end() {
        let lab = Lab::new();
        for size in [4096, LENGTH, 8 * LENGTH + 4096, 100 * LENGTH] {
            let image = lab.image(&size.to_string(), size);
            let file = File::options().read(true).write(true).open(image);
            let file = file.expect("a file");
            let before = sample(&file, size);
            for offset in [0, size - 1] {
                file.write_at(b"x", offset).expect("room");
                assert_ne!(sample(&file, size), before, "{offset} of {size}");
                file.write_at(b"\0", offset).expect("room");
            }
            assert!(sample(&file, size).is_some_and(|bytes| bytes.len() >= 4096));
        }
    }
}
