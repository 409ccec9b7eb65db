//! The machine that wipes: what its firmware says of it (DMI), whether its clock was set, and properties of files that
//! follow from the type of their filesystem.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::fs::StatFs;
use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine. What the firmware does not say, or only root may read, is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Its maker.
    pub vendor: Option<String>,
    /// Its model.
    pub product: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
}

/// What firmware says that was never filled in, in lower case.
const FILLERS: [&str; 10] = [
    "none",
    "default string",
    "not specified",
    "not applicable",
    "to be filled by o.e.m.",
    "system manufacturer",
    "system product name",
    "system serial number",
    "0",
    "0123456789",
];

impl Machine {
    /// This machine; `None` if nothing is known of it.
    pub fn this() -> Option<Machine> {
        Machine::from_directory(Path::new("/sys/class/dmi/id"))
    }

    fn from_directory(directory: &Path) -> Option<Machine> {
        let text = |name: &str| {
            let text = fs::read_to_string(directory.join(name)).ok()?;
            let text = text.trim();
            let is_filler = text.is_empty() || FILLERS.contains(&text.to_lowercase().as_str());
            (!is_filler).then(|| text.to_owned())
        };
        let machine = Machine {
            vendor: text("sys_vendor"),
            product: text("product_name"),
            serial: text("product_serial"),
        };
        (machine != Machine::default()).then_some(machine)
    }
}

/// The wall clock, which people and programs set, and beside it one that nobody sets, at one moment. If the first was set,
/// the times of day in a record do not fit together.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    wall: Timestamp,
    /// Since the machine started, with the time in which it was suspended.
    uptime: Duration,
}

impl Clocks {
    pub fn now() -> Clocks {
        let uptime = clock_gettime(ClockId::Boottime);
        Clocks {
            wall: Timestamp::now(),
            uptime: Duration::new(uptime.tv_sec as u64, uptime.tv_nsec as u32),
        }
    }

    /// What is to be noted at `now`; `None` if the wall clock has gone on as it should. A clock that is only slewed drifts
    /// by less than a part in a thousand (adjtime(3)).
    pub fn note(&self, now: &Clocks) -> Option<String> {
        let elapsed = SignedDuration::try_from(now.uptime.saturating_sub(self.uptime)).ok()?;
        let set = now.wall.duration_since(self.wall) - elapsed;
        let direction = match set.is_negative() {
            true => "back",
            false => "forward",
        };
        let tolerated = SignedDuration::from_secs(2) + elapsed / 1000;
        (set.abs() > tolerated).then(|| {
            format!(
                "the clock was set {direction} by {} s meanwhile: times of day in this record do not fit together; its \
                 durations are those of another clock",
                set.abs().as_secs()
            )
        })
    }
}

/// Magic numbers of linux/magic.h, and of filesystems that are not in it.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
const COPY_ON_WRITE: [(u32, &str); 6] = [
    (0x9123_683e, "btrfs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0xf2f5_2010, "f2fs"),
    (0x3434, "nilfs2"),
    (0x794c_7630, "overlayfs"),
];

/// Whether `path` is in memory, and so lost in a power cut.
pub fn is_in_memory(path: &Path) -> bool {
    kind(path).is_some_and(|kind| IN_MEMORY.contains(&kind))
}

/// The name of `path`'s filesystem, if it writes changes to other places than what they replace, so
/// that old contents stay.
pub fn copy_on_write_name(path: &Path) -> Option<&'static str> {
    let kind = kind(path)?;
    COPY_ON_WRITE
        .iter()
        .find(|(magic, _)| *magic == kind)
        .map(|(_, name)| *name)
}

fn kind(path: &Path) -> Option<u32> {
    let about: StatFs = rustix::fs::statfs(path).ok()?;
    Some(about.f_type as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_filled_in_is_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        assert_eq!(Machine::from_directory(directory.path()), None);
        write("sys_vendor", "LENOVO\n");
        write("product_serial", "To Be Filled By O.E.M.\n");
        let machine = Machine {
            vendor: Some("LENOVO".into()),
            ..Machine::default()
        };
        assert_eq!(Machine::from_directory(directory.path()), Some(machine));
        write("sys_vendor", " \n");
        assert_eq!(Machine::from_directory(directory.path()), None);
    }

    #[test]
    fn only_a_clock_that_was_set_is_noted() {
        let clocks = |wall, uptime| Clocks {
            wall: Timestamp::from_second(wall).expect("a time"),
            uptime: Duration::from_secs(uptime),
        };
        let begun = clocks(1_000_000, 5000);
        for (wall, expected) in [
            (1_010_000, None),
            (1_010_012, None),
            (1_009_988, None),
            (1_013_600, Some("forward by 3600 s")),
            (10_000, Some("back by 1000000 s")),
        ] {
            let note = begun.note(&clocks(wall, 15_000));
            assert_eq!(note.is_some(), expected.is_some(), "{note:?}");
            let words = expected.unwrap_or_default();
            assert!(note.unwrap_or_default().contains(words), "{words}");
        }
    }
}
