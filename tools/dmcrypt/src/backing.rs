//! The storage that is encrypted: a RAM disk, or a drive that the user named and confirmed.
//!
//! The device mapper claims a backing device until it is dropped, so nobody can mount it or swap to
//! it. Other users of the device mapper, such as LVM, still could, so the code checks for them. It
//! also holds the locks that udev and virtual machines respect.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use squall_drives::confirm::Consent;
use squall_drives::io::{Access, Buffer, Direct, OtherPaths, forget_partitions, hold};
use squall_drives::{Checked, Kind, Number, Purpose, Target, guards, shown};
use squall_tool_base::Failure;
use squall_tool_base::failure::at;

use crate::mapper::{Control, Mapped, PREFIX, Table};
use crate::measure::Subject;
use crate::model::{self, BackingKind};
use crate::ram::Ram;

/// Why devices are overwritten, for the messages of guards and prompts.
const PURPOSE: Purpose = Purpose {
    verb: "overwrite",
    instead: |path| format!("name a device other than {}", shown(path)),
};

/// How many bytes one read takes when a device is checked for data, and how much of its end is
/// checked: labels, partition tables and file systems may keep data there.
const STEP: usize = 4 << 20;

/// A backing device, claimed.
pub struct Backing {
    /// The description that goes into reports.
    pub about: model::Backing,
    /// The device number, which names the device in tables.
    pub number: Number,
    /// The device, open for direct transfers.
    file: Arc<File>,
    claim: Option<Mapped>,
    /// The device's other paths, which nobody may use meanwhile.
    other_paths: Option<OtherPaths>,
}

impl Backing {
    /// Claims the first `bytes` of the device at `path`, if it may be overwritten and the user agrees.
    pub fn of_device(
        control: &Rc<Control>,
        path: &Path,
        consent: &Consent,
        bytes: u64,
    ) -> Result<Backing, Failure> {
        let target = find_device(path, bytes)?;
        let checked = Checked::new(vec![target.clone()], PURPOSE)?;
        if !consent.yes {
            check_is_empty(&target, bytes)?;
        }
        let confirmed = checked.confirm(consent)?;
        let device = confirmed.open(|_| Access::Write, Direct::Auto)?.remove(0);
        // The device mapper can claim the device only once it is closed.
        let other_paths = device.into_other_paths();
        let about = model::Backing {
            kind: BackingKind::Device,
            name: shown(path),
            bytes,
            sector: target.identity.sector,
        };
        let path = &target.identity.path;
        let backing = Backing::claim_and_describe(control, path, about, Some(other_paths))?;
        target.confirm(&backing.file)?;
        check_no_other_holders(&target)?;
        Ok(backing)
    }

    /// Claims the first `bytes` of a RAM disk.
    pub fn of_ram(control: &Rc<Control>, ram: &Ram, bytes: u64) -> Result<Backing, Failure> {
        let about = model::Backing {
            kind: BackingKind::Ram,
            name: shown(ram.path()),
            bytes,
            sector: 512,
        };
        Backing::claim_and_describe(control, ram.path(), about, None)
    }

    fn claim_and_describe(
        control: &Rc<Control>,
        path: &Path,
        about: model::Backing,
        other_paths: Option<OtherPaths>,
    ) -> Result<Backing, Failure> {
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let file: File = opened.map_err(|error| at(path)(error.into()))?.into();
        hold(&file).map_err(|error| at(path)(error.into()))?;
        let number = Number::new(file.metadata().map_err(at(path))?.rdev());
        let whole = Table::new("linear", about.bytes / 512, format!("{number} 0"));
        Ok(Backing {
            about,
            number,
            file: Arc::new(file),
            claim: Some(Mapped::start(control, "claim", &whole)?),
            other_paths,
        })
    }

    /// The unencrypted device, to be measured beside the encrypted ones.
    pub fn subject(&self) -> Subject {
        Subject {
            name: self.about.name.clone(),
            file: self.file.clone(),
            bytes: self.about.bytes,
        }
    }
}

/// Finds the device at `path` and checks that it has at least `bytes`; its content is not read.
pub fn find_device(path: &Path, bytes: u64) -> Result<Target, Failure> {
    let target = Target::find(path)
        .map_err(|failure| Failure::Usage(format!("--device {}", failure.into_text())))?;
    let wrong = |text: String| Err(Failure::Usage(format!("--device {}: {text}", shown(path))));
    if target.identity.kind == Kind::File {
        return wrong(
            "is a file: attach it with `losetup --find --show`, and name the device that this \
             prints"
                .into(),
        );
    }
    if target.identity.size < bytes {
        let size = target.identity.size >> 20;
        return wrong(format!(
            "has only {size} MiB: use --size {size}MiB or another device"
        ));
    }
    Ok(target)
}

/// Fails if a device that is not ours uses `target`, a partition of it, or the disk that it is a
/// partition of.
fn check_no_other_holders(target: &Target) -> Result<(), Failure> {
    let others = guards::holders(target, |name| name.starts_with(PREFIX))?;
    if others.is_empty() {
        Ok(())
    } else {
        Err(Failure::Runtime(format!(
            "{}: it is now used by {}: nothing was written",
            shown(&target.identity.given),
            others.join(", ")
        )))
    }
}

/// Fails if the first `bytes` of `target`, which will be overwritten, or its end are not all zero.
fn check_is_empty(target: &Target, bytes: u64) -> Result<(), Failure> {
    let path = &target.identity.path;
    let file = File::open(path).map_err(at(path))?;
    target.confirm(&file)?;
    let mut buffer = Buffer::new(STEP);
    let size = target.identity.size;
    let steps = (0..bytes)
        .step_by(STEP)
        .chain([size.saturating_sub(STEP as u64)]);
    for offset in steps {
        let part = &mut buffer[..(size - offset).min(STEP as u64) as usize];
        file.read_exact_at(part, offset).map_err(at(path))?;
        if part.iter().any(|byte| *byte != 0) {
            return Err(Failure::Runtime(format!(
                "{}: it is not empty, and its data would be destroyed: nothing was written: add \
                 --yes to do that, or name another device",
                shown(&target.identity.given)
            )));
        }
    }
    Ok(())
}

impl Drop for Backing {
    /// Releases a drive; the kernel forgets its old partitions, which were overwritten.
    fn drop(&mut self) {
        if self.about.kind == BackingKind::Device {
            drop(self.claim.take());
            forget_partitions(&self.file);
            if let Some(other_paths) = &self.other_paths {
                other_paths.forget_partitions();
            }
        }
    }
}
