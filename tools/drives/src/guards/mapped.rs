//! Which parts of other devices a mapped device takes, by its table in the kernel's device mapper.
//!
//! Volumes beside each other on a drive share no bytes; an origin and its snapshots share all. sysfs shows both alike.

use std::fs::File;
use std::ops::Range;

use crate::Number;
use crate::mapper::{Command, Header, flag, request};
use crate::target::device::Device;

const CONTROL: &str = "/dev/mapper/control";

/// A line of a mapped device's table.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    /// Length in sectors of 512 bytes.
    length: u64,
    /// The target's name, such as `linear`.
    kind: String,
    /// Empty if only the kind was asked for.
    parameters: String,
}

/// Whether `one` and `other`, which both stand on `below`, may share bytes of it. A thin pool gives each of its volumes
/// blocks of its own when it is written to.
pub(super) fn share(one: &Device, other: &Device, below: &Device) -> bool {
    if kinds(below).iter().any(|kind| kind == "thin-pool") {
        return false;
    }
    match (ranges(one, below), ranges(other, below)) {
        (Some(one), Some(other)) => {
            let overlap = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
            one.iter().any(|a| other.iter().any(|b| overlap(a, b)))
        }
        _ => true,
    }
}

/// The kinds of targets of which the mapped device `device` is made, each once; none if it is no mapped device, or the
/// kernel does not answer this process.
pub(super) fn kinds(device: &Device) -> Vec<String> {
    let lines = lines(device, 0).unwrap_or_default();
    let mut kinds: Vec<_> = lines.into_iter().map(|line| line.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// The sectors of `below` that `device` takes; `None` if that is not known.
fn ranges(device: &Device, below: &Device) -> Option<Vec<Range<u64>>> {
    let is_plain = |kind: &String| ["linear", "striped"].contains(&kind.as_str());
    let kinds = kinds(device);
    // The tables of other kinds may have keys.
    if kinds.is_empty() || !kinds.iter().all(is_plain) {
        return None;
    }
    let mut ranges = Vec::new();
    for line in lines(device, flag::TABLE)? {
        let parts = line.parts()?.into_iter();
        let of_it = parts.filter(|(number, _)| *number == below.number);
        ranges.extend(of_it.map(|(_, range)| range));
    }
    Some(ranges)
}

impl Line {
    /// The sectors that a linear or striped target takes of which device; `None` if it is another one.
    fn parts(&self) -> Option<Vec<(Number, Range<u64>)>> {
        let words: Vec<&str> = self.parameters.split_whitespace().collect();
        let (stripes, places) = match (self.kind.as_str(), &words[..]) {
            ("linear", places) => (1, places),
            ("striped", [stripes, _, places @ ..]) => (stripes.parse().ok()?, places),
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
fn lines(device: &Device, flags: u32) -> Option<Vec<Line>> {
    let mut header = Header::for_number(device.number);
    header.flags = flags;
    let control = device.has("dm").then(|| File::open(CONTROL).ok())??;
    let answer = request(&control, Command::Table, header, &[]).ok()?;
    let is_whole = answer.header.flags & flag::CUT_SHORT == 0;
    is_whole.then(|| parse(&answer.data, answer.header.target_count))?
}

/// The lines in the kernel's answer. Each is a `struct dm_target_spec` (its start and length of 8 bytes each, a status,
/// the offset of the next one, and its kind of 16 bytes) and the parameters, which end with 0.
fn parse(data: &[u8], count: u32) -> Option<Vec<Line>> {
    const SPEC: usize = 40;
    let mut lines = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let spec = data.get(at..)?.get(..SPEC)?;
        let length = u64::from_ne_bytes(spec[8..16].try_into().ok()?);
        let next = u32::from_ne_bytes(spec[20..24].try_into().ok()?);
        lines.push(Line {
            length,
            kind: text(&spec[24..]),
            parameters: text(&data[at + SPEC..]),
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

    fn line(length: u64, kind: &str, parameters: &str) -> Line {
        Line {
            length,
            kind: kind.into(),
            parameters: parameters.into(),
        }
    }

    #[test]
    fn lines_tell_which_parts_they_take() {
        let number = |minor| Number { major: 8, minor };
        let one = vec![(number(0), 2048..3048)];
        let two = vec![(number(0), 0..500), (number(16), 8..508)];
        for (kind, parameters, expected) in [
            ("linear", "8:0 2048", Some(one)),
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
