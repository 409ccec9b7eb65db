//! Authenticated specifications, measured over dm-integrity with its journal and without.
//!
//! dm-integrity formats what is below it and refuses to read what was not written through it, so these
//! devices cannot share the same bytes: each has a part of the backing device, and so have the device
//! without encryption and the best unauthenticated specification, which are measured in the same rounds.

use std::rc::Rc;

use rustix::fs::OFlags;
use squall_drives::Number;
use squall_tools::Failure;
use zeroize::Zeroizing;

use super::choice::Chosen;
use super::devices::{BaselineDevice, Run};
use crate::integrity::Layout;
use crate::mapper::{Control, Mapped, Table};
use crate::model::{Failed, Figure, Measured, Options};
use crate::rank;
use crate::spec::Spec;

/// What is measured if the user names nothing: what cryptsetup's documentation names (release notes of
/// 2.0.0 and 2.8.0).
const USUAL: [&str; 4] = [
    "aegis128-random 128 aead",
    "aes-xts-plain64 512 hmac-sha256",
    "chacha20-random 256 poly1305",
    "aes-gcm-random 256 aead",
];

/// Least length of a part: room for metadata, and for several of the largest transfers.
const LEAST_MIB: u64 = 8;

/// The size of sectors: the larger they are, the fewer tags there are.
const SECTOR_SIZE: u32 = 4096;

/// The name of the whole in the list of failures.
const NAME: &str = "authenticated encryption";

/// The specifications that are measured if the user names none.
pub fn usual() -> impl Iterator<Item = Spec> {
    USUAL.iter().filter_map(|text| text.parse().ok())
}

/// Each of `chosen` with a journal and without, after `best` without authentication.
fn with_options(best: Option<Chosen>, chosen: &[Chosen]) -> Vec<(Chosen, Options)> {
    let options = |journal| Options {
        sector_size: SECTOR_SIZE,
        journal,
        ..Options::PLAIN
    };
    let each = chosen
        .iter()
        .flat_map(|chosen| [true, false].map(|journal| (chosen.clone(), options(Some(journal)))));
    best.map(|best| (best, options(None)))
        .into_iter()
        .chain(each)
        .collect()
}

/// Fails if `bytes` are too few for `authenticated` specifications, with or without another beside.
pub fn check(bytes: u64, authenticated: usize, has_best: bool) -> Result<(), Failed> {
    part(bytes, 1 + usize::from(has_best) + 2 * authenticated).map(drop)
}

/// The length in bytes of each of `count` parts of `bytes`; fails if that is too little.
fn part(bytes: u64, count: usize) -> Result<u64, Failed> {
    let count = count as u64;
    match (bytes / count) >> 20 {
        mib @ LEAST_MIB.. => Ok(mib << 20),
        _ => Err(Failed {
            name: NAME.into(),
            reason: format!(
                "its {count} devices need {LEAST_MIB} MiB each: use --size {}MiB or more",
                count * LEAST_MIB
            ),
        }),
    }
}

/// A part of the backing device, and perhaps a device of dm-integrity over it.
pub fn below(
    control: &Rc<Control>,
    label: &str,
    backing: Number,
    (start, bytes): (u64, u64),
    spec: &Spec,
    options: Options,
) -> Result<BaselineDevice, Failure> {
    let table = Table {
        target: "linear",
        sectors: bytes / 512,
        parameters: Zeroizing::new(format!("{backing} {}", start / 512)),
    };
    let part = Mapped::start(control, &format!("{label}-part"), &table)?;
    let Some(journal) = options.journal else {
        return Ok(BaselineDevice {
            number: part.number(),
            sectors: bytes / 512,
            devices: vec![part],
        });
    };
    let layout = Layout {
        below: part.number(),
        metadata_len: spec.metadata_len(),
        sector_size: options.sector_size,
        journal,
    };
    let file = part.open(OFlags::RDWR | OFlags::DIRECT)?;
    let (device, sectors) = layout.format(control, &format!("{label}-integrity"), &file)?;
    Ok(BaselineDevice {
        number: device.number(),
        sectors,
        devices: vec![device, part],
    })
}

impl Run<'_> {
    /// Measures `chosen` with a journal and without, and gives them best first, with the best of
    /// `ranking` among them, after the figures of the backing device. If that fails, the failure is noted
    /// and everything else stays valid.
    pub fn authenticated(
        &mut self,
        chosen: &[Chosen],
        ranking: &[Measured],
    ) -> (Vec<Figure>, Vec<Measured>) {
        if chosen.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let best = rank::best(ranking).into_iter().next();
        let wanted = with_options(best.map(Chosen::of), chosen);
        let part = match part(self.backing.about.bytes, wanted.len() + 1) {
            Ok(part) => part,
            Err(failed) => {
                self.failures.push(failed);
                return (Vec::new(), Vec::new());
            }
        };
        self.measure_with_baseline(&wanted, NAME, Some(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_authenticated() {
        assert_eq!(usual().count(), USUAL.len());
        assert!(usual().all(|spec| spec.metadata_len() > 0));
    }

    #[test]
    fn parts_are_equal_and_whole() {
        assert_eq!(part(512 << 20, 10).expect("enough"), 51 << 20);
        let failed = part(64 << 20, 10).expect_err("too little");
        assert!(failed.reason.contains("--size 80MiB"), "{}", failed.reason);
    }
}
