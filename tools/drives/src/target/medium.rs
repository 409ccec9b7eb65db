//! Finds devices that lead to the same medium: a drive with two paths has a device for each. Whoever uses the one uses
//! the other, and the kernel does not see that.
//!
//! Names decide, as the kernel has them from the drive: the worldwide identifier, or else serial number and model. Where
//! they do not suffice, as with drives of virtual machines that have none and docks that give all drives their own, the
//! contents do: devices that hold different bytes are two media.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::OFlags;

use super::device::Device;
use super::drive;
use crate::io::Buffer;

/// What the kernel knows of a whole device that tells media apart.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    wwid: Option<String>,
    /// The maker's, or none.
    serial: Option<String>,
    model: Option<String>,
    /// Length in bytes.
    size: u64,
    /// Whether it is on USB, where no drive has two paths, and a dock may give all drives its own names.
    is_usb: bool,
}

/// How two devices are alike that may lead to the same medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// They certainly do.
    Certain,
    /// Their names do not tell, for this reason.
    Possible(&'static str),
}

impl Names {
    /// The names of the whole device `device`; `None` if it stands on others, has no bytes, or is a partition.
    pub fn of(device: &Device) -> Option<Names> {
        let is_lowest = device.size() > 0 && is_lowest(device);
        is_lowest.then(|| Names {
            wwid: drive::wwid(device),
            serial: drive::makers_serial(device),
            model: drive::model(device),
            size: device.size(),
            is_usb: drive::bus_name(device).as_deref() == Some("usb"),
        })
    }

    /// How both are alike; `None` if they are two media.
    pub fn compare(&self, other: &Names) -> Option<Match> {
        let is_equal =
            |one: &Option<String>, other: &Option<String>| Some(one.as_ref()? == other.as_ref()?);
        let serial = is_equal(&self.serial, &other.serial);
        let is_usb = self.is_usb || other.is_usb;
        let is_alike =
            self.size == other.size && is_equal(&self.model, &other.model) != Some(false);
        match (is_equal(&self.wwid, &other.wwid), serial) {
            (Some(true), Some(true) | None) if self.size == other.size && !is_usb => {
                Some(Match::Certain)
            }
            (Some(true), _) => Some(Match::Possible("their worldwide identifiers are equal")),
            (Some(false), _) | (None, Some(false)) => None,
            (None, Some(true)) if is_alike => {
                Some(Match::Possible("their serial numbers and sizes are equal"))
            }
            (None, None) if is_alike => Some(Match::Possible(
                "they have no names that differ, their sizes are equal",
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
        let lowest = all.filter_map(|device| {
            let names = Names::of(&device)?;
            Some((device, names))
        });
        Ok(Media(lowest.collect()))
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
        let same = all.filter(|(_, how)| *how == Match::Certain);
        same.map(|(device, _)| device).collect()
    }

    /// The devices that may lead to the medium of the whole device `disk` as far as their names tell, and why.
    pub fn possible_other_paths(&self, disk: &Device) -> Vec<(Device, &'static str)> {
        let all = self.matches(disk).into_iter();
        let alike = all.filter_map(|(device, how)| match how {
            Match::Certain => None,
            Match::Possible(why) => Some((device, why)),
        });
        alike.collect()
    }
}

/// Whether `device` is a whole device that stands on no other device or file, as far as the kernel tells.
fn is_lowest(device: &Device) -> bool {
    let stands_on_others = device.has("dm") || device.has("loop") || device.has_entries("slaves");
    device.partition().is_none() && !stands_on_others
}

/// How many bytes are compared at the beginning of two devices, where labels, partition tables and the first file system
/// are; in pieces of which length; and at how many places after that.
const BEGINNING: u64 = 2 << 20;
const LENGTH: u64 = 64 << 10;
const PLACES: u64 = 15;

/// Whether the contents of both show that they are two media. Both are read twice, past the page cache: the first time
/// has the kernel write to the medium what it has kept back. If a device changes between the reads, somebody writes to
/// it, and nothing is known. Fails if one cannot be read.
pub(crate) fn are_contents_different(one: &Device, other: &Device) -> io::Result<bool> {
    let unit = [one, other].map(|device| device.disk().value("queue/logical_block_size"));
    let unit = unit.into_iter().flatten().max().unwrap_or(0).max(4096);
    let size = one.size().min(other.size());
    let (one, other) = (one.open(OFlags::DIRECT)?, other.open(OFlags::DIRECT)?);
    for place in places(size, unit) {
        let read = || Ok::<_, io::Error>((bytes(&one, &place)?, bytes(&other, &place)?));
        if show_two_media(&read()?, &read()?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The places that are compared in `size` bytes, in whole `unit`s, the last of which ends with the last whole unit.
fn places(size: u64, unit: u64) -> impl Iterator<Item = Range<u64>> {
    let size = size / unit * unit;
    let length = LENGTH.max(unit).min(size);
    let last = size - length;
    let step = last / PLACES / unit * unit;
    let first = (0..BEGINNING / LENGTH).map(move |place| (place * length).min(last));
    let later = (1..PLACES).map(move |place| place * step);
    let starts = first.chain(later).chain([last]);
    starts.map(move |start| start..start + length)
}

fn bytes(device: &File, place: &Range<u64>) -> io::Result<Vec<u8>> {
    let mut buffer = Buffer::new((place.end - place.start) as usize);
    device.read_exact_at(&mut buffer, place.start)?;
    Ok(buffer.to_vec())
}

/// Whether what was read of two devices, before and after, shows that they are two media.
fn show_two_media<T: PartialEq>(before: &(T, T), after: &(T, T)) -> bool {
    before == after && after.0 != after.1
}

#[cfg(test)]
mod tests {
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
                is_usb: false,
            }
        };
        let drive = names("naa.1", "S1", "M", 8);
        let virtual_drive = names("", "", "", 8);
        let docked = Names {
            is_usb: true,
            ..drive.clone()
        };
        let stick = names("", "S1", "M", 8);
        let is_alike = |one: &Names, other: &Names| {
            let [found, reverse] = [one.compare(other), other.compare(one)];
            assert_eq!(found, reverse);
            found.map(|found| found != Match::Certain)
        };
        for (one, other, expected) in [
            (&drive, &drive, Some(false)),
            // The second path does not show the serial number.
            (&drive, &names("naa.1", "", "M", 8), Some(false)),
            // One of its paths does not know yet that it was enlarged.
            (&drive, &names("naa.1", "S1", "M", 9), Some(true)),
            (&docked, &docked, Some(true)),
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
    fn only_contents_that_stay_and_differ_show_two_media() {
        for (before, after, expected) in [
            ((1, 2), (1, 2), true),
            ((1, 1), (1, 1), false),
            // Somebody writes to the one medium while it is read.
            ((1, 2), (3, 4), false),
            ((1, 1), (1, 2), false),
            ((1, 2), (2, 2), false),
        ] {
            assert_eq!(show_two_media(&before, &after), expected);
        }
    }

    #[test]
    fn places_reach_from_the_beginning_to_the_end() {
        for (size, unit) in [
            (4096, 4096),
            (BEGINNING + 512, 4096),
            (100 * BEGINNING, 65536),
            (u64::MAX, 4096),
        ] {
            let places: Vec<_> = places(size, unit).collect();
            assert_eq!(places[0].start, 0);
            assert_eq!(places[places.len() - 1].end, size / unit * unit);
            let ends = places.iter().flat_map(|place| [place.start, place.end]);
            assert!(
                ends.into_iter().all(|end| end % unit == 0 && end <= size),
                "{places:?}"
            );
        }
        assert!(places(512, 4096).all(|place| place.is_empty()));
    }
}
