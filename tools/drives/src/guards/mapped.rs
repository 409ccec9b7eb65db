//! Which parts of other devices a mapped device takes, by its table in the kernel's device mapper.
//!
//! Volumes beside each other on a drive share no bytes; an origin and its snapshots share all. sysfs shows both alike.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;

use crate::Number;
use crate::mapper::{CONTROL, Command, Header, SPEC_LEN, flag, request};
use crate::target::device::Device;

/// The tables of all mapped devices.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeMap<Number, Option<Table>>);

/// A mapped device's table, as far as it concerns what the device shares with others.
#[derive(Debug)]
struct Table {
    /// The types of its targets, each once, such as `linear`.
    types: Vec<String>,
    /// The sectors of 512 bytes that it takes of other devices; `None` if that is not known.
    parts: Option<Vec<Part>>,
}

/// Sectors of a device.
type Part = (Number, Range<u64>);

/// A line of a mapped device's table.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    /// Length in sectors of 512 bytes.
    length: u64,
    /// The target's type, such as `linear`.
    target_type: String,
    /// The parameters or, without [`flag::TABLE`], the status.
    parameters: String,
}

impl Tables {
    /// Reads them from the kernel, which tells only root.
    pub fn read() -> io::Result<Tables> {
        let control = File::open(CONTROL).ok();
        let all = Device::all()?.into_iter();
        let mapped = all.filter(|device| device.has("dm"));
        let read = |device: Device| {
            let control = control.as_ref();
            let table = control.and_then(|control| Table::read(control, device.number));
            (device.number, table)
        };
        Ok(Tables(mapped.map(read).collect()))
    }

    /// Whether `one` and `other`, which both stand on `below`, may share bytes of it. Only mapped devices may.
    pub fn may_overlap(&self, one: &Device, other: &Device, below: &Device) -> bool {
        let is_mapped = |device: &Device| self.0.contains_key(&device.number) || device.has("dm");
        if !is_mapped(one) || !is_mapped(other) {
            return false;
        }
        let of_below = |device: &Device| {
            let parts = self.0.get(&device.number)?.as_ref()?.parts.as_ref()?.iter();
            let parts = parts.filter(|(number, _)| *number == below.number);
            Some(parts.map(|(_, range)| range.clone()).collect::<Vec<_>>())
        };
        match (of_below(one), of_below(other)) {
            (Some(one), Some(other)) => {
                let overlap = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
                one.iter().any(|a| other.iter().any(|b| overlap(a, b)))
            }
            _ => true,
        }
    }

    /// The types of targets of which `device` is made, none if it is no mapped device; `None` if the kernel does not tell
    /// this process.
    pub fn types(&self, device: &Device) -> Option<&[String]> {
        match self.0.get(&device.number) {
            Some(table) => Some(&table.as_ref()?.types),
            // It may be a new one.
            None if device.has("dm") => None,
            None => Some(&[]),
        }
    }

    /// Whether `device` is known to have a target of this type.
    pub fn has_target(&self, device: &Device, target_type: &str) -> bool {
        let types = self.types(device).unwrap_or_default();
        types.iter().any(|it| it == target_type)
    }
}

impl Table {
    /// `None` if the kernel does not tell.
    fn read(control: &File, number: Number) -> Option<Table> {
        // A thin pool would write its metadata first.
        let lines = lines(control, number, flag::NO_FLUSH)?;
        let mut types: Vec<_> = lines.into_iter().map(|line| line.target_type).collect();
        types.sort();
        types.dedup();
        let is_plain = |it: &String| PLAIN.contains(&it.as_str()) || EMPTY.contains(&it.as_str());
        // Other tables may hold keys, so nobody asks for them.
        let parts = types.iter().all(is_plain).then(|| {
            let lines = self::lines(control, number, flag::TABLE)?.into_iter();
            let parts = lines.map(|line| line.parts()).collect::<Option<Vec<_>>>()?;
            Some(parts.concat())
        });
        let parts = parts.flatten();
        Some(Table { types, parts })
    }
}

/// Types of targets that take a part of one device or, in stripes, of several.
const PLAIN: [&str; 4] = ["dust", "flakey", "linear", "striped"];

/// Types of targets that stand on no device.
const EMPTY: [&str; 2] = ["error", "zero"];

impl Line {
    /// The sectors that the target takes of which device; `None` if that is not known.
    fn parts(&self) -> Option<Vec<Part>> {
        let words: Vec<&str> = self.parameters.split_whitespace().collect();
        let (stripes, places) = match (self.target_type.as_str(), &words[..]) {
            (it, _) if EMPTY.contains(&it) => return Some(Vec::new()),
            ("striped", [stripes, _, places @ ..]) => (stripes.parse().ok()?, places),
            (it, [_, _, ..]) if PLAIN.contains(&it) => (1, &words[..2]),
            _ => return None,
        };
        let length = self.length.checked_div(stripes)?;
        let part = |place: &[&str]| {
            let start: u64 = place[1].parse().ok()?;
            Some((place[0].parse().ok()?, start..start.checked_add(length)?))
        };
        let places = places.chunks_exact(2);
        match places.len() as u64 == stripes {
            true => places.map(part).collect(),
            false => None,
        }
    }
}

/// The lines of a mapped device's table; `None` if the kernel does not tell them.
fn lines(control: &File, number: Number, flags: u32) -> Option<Vec<Line>> {
    let mut header = Header::for_number(number);
    header.flags = flags;
    let answer = request(control, Command::Table, header, &[]).ok()?;
    let is_whole = answer.header.flags & flag::CUT_SHORT == 0;
    is_whole.then(|| parse(&answer.data, answer.header.target_count))?
}

/// The lines in the kernel's answer. Each is a `struct dm_target_spec`, which has the offset of the next one from the
/// beginning of the answer, and the parameters, which end with 0.
fn parse(data: &[u8], count: u32) -> Option<Vec<Line>> {
    let mut lines = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let spec = data.get(at..)?.get(..SPEC_LEN)?;
        let length = u64::from_ne_bytes(spec[8..16].try_into().ok()?);
        let next = u32::from_ne_bytes(spec[20..24].try_into().ok()?);
        lines.push(Line {
            length,
            target_type: text(&spec[24..]),
            parameters: text(&data[at + SPEC_LEN..]),
        });
        at = next as usize;
    }
    Some(lines)
}

/// The text before the first 0.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next();
    String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(length: u64, target_type: &str, parameters: &str) -> Line {
        Line {
            length,
            target_type: target_type.into(),
            parameters: parameters.into(),
        }
    }

    #[test]
    fn lines_tell_which_parts_they_take() {
        let number = |minor| Number { major: 8, minor };
        let one = vec![(number(0), 2048..3048)];
        let two = vec![(number(0), 0..500), (number(16), 8..508)];
        for (kind, parameters, expected) in [
            ("linear", "8:0 2048", Some(one.clone())),
            ("flakey", "8:0 2048 1 1 0", Some(one)),
            ("error", "", Some(Vec::new())),
            ("striped", "2 128 8:0 0 8:16 8", Some(two)),
            ("striped", "2 128 8:0 0", None),
            ("striped", "0 128", None),
            ("linear", "8:0 18446744073709551615", None),
            ("linear", "", None),
            ("crypt", "aes :32:logon:x 0 8:0 0", None),
        ] {
            assert_eq!(line(1000, kind, parameters).parts(), expected, "{kind}");
        }
    }

    #[test]
    fn answers_are_read_as_the_kernel_writes_them() {
        let mut data = Vec::new();
        for (length, next, kind, parameters) in
            [(7_u64, 56_u32, "linear", "8:0 2048"), (9, 96, "error", "")]
        {
            data.extend(0_u64.to_ne_bytes());
            data.extend(length.to_ne_bytes());
            data.extend(0_i32.to_ne_bytes());
            data.extend(next.to_ne_bytes());
            data.extend(format!("{kind:\0<16}{parameters}").into_bytes());
            data.resize(next as usize, 0);
        }
        let expected = vec![line(7, "linear", "8:0 2048"), line(9, "error", "")];
        assert_eq!(parse(&data, 2), Some(expected));
        assert_eq!(parse(&data[..80], 2), None);
    }
}
