//! What is encrypted: memory, or a drive that its user named and means.
//!
//! From the moment that a ground is laid until it is dropped, the device mapper has claimed it:
//! nobody can mount it, or open it exclusively.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, major, minor};
use squall_command::Failure;
use squall_command::failure::at;
use squall_drives::confirm::{Consent, confirm};
use squall_drives::io::{Access, Buffer, Device, Direct};
use squall_drives::{Kind, Purpose, Target, guards, shown};
use zeroize::Zeroizing;

use crate::mapper::{Control, Mapped, Number, Table};
use crate::measure::Lane;
use crate::ram::Ram;
use crate::report::model::{self, GroundKind};

/// What a device's data are destroyed for.
const PURPOSE: Purpose = Purpose {
    verb: "overwrite",
    instead: |path| format!("name another device than {}", shown(path)),
};

/// How much is looked at of either end to tell whether a device is empty: all that labels,
/// partition tables and file systems begin and end with.
const END: usize = 1 << 20;

/// What is encrypted, claimed.
pub struct Ground {
    /// What is told of it.
    pub about: model::Ground,
    /// Its number, by which tables name it.
    pub number: Number,
    /// It, open for direct transfers.
    file: Arc<File>,
    _claim: Mapped,
}

impl Ground {
    /// The device at `path`, if it may be overwritten and is meant; the first `bytes` of it.
    pub fn of_device(
        control: &Rc<Control>,
        path: &Path,
        consent: &Consent,
        bytes: u64,
    ) -> Result<Ground, Failure> {
        let target = found(path, bytes)?;
        guards::check(std::slice::from_ref(&target), &PURPOSE)?;
        if !consent.yes {
            is_empty(&target)?;
        }
        confirm(std::slice::from_ref(&target), consent, &PURPOSE)?;
        // Exclusively, once: whoever has it open so is noticed. The device mapper claims it next, which
        // could not while it is open so.
        drop(Device::open(&target, Access::Write, Direct::Auto)?);
        let about = model::Ground {
            kind: GroundKind::Device,
            name: shown(path),
            bytes,
            sector: target.identity.sector,
        };
        let ground = Ground::claimed(control, &target.identity.path, about)?;
        target.confirm(&ground.file)?;
        Ok(ground)
    }

    /// The first `bytes` of a RAM disk.
    pub fn of_ram(control: &Rc<Control>, ram: &Ram, bytes: u64) -> Result<Ground, Failure> {
        let about = model::Ground {
            kind: GroundKind::Ram,
            name: shown(ram.path()),
            bytes,
            sector: 512,
        };
        Ground::claimed(control, ram.path(), about)
    }

    fn claimed(
        control: &Rc<Control>,
        path: &Path,
        about: model::Ground,
    ) -> Result<Ground, Failure> {
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let file: File = opened.map_err(|error| at(path)(error.into()))?.into();
        let rdev = file.metadata().map_err(at(path))?.rdev();
        let number = Number {
            major: major(rdev),
            minor: minor(rdev),
        };
        let whole = Table {
            target: "linear",
            sectors: about.bytes / 512,
            parameters: Zeroizing::new(format!("{number} 0")),
        };
        Ok(Ground {
            about,
            number,
            file: Arc::new(file),
            _claim: Mapped::start(control, "claim", &whole)?,
        })
    }

    /// It, to be measured beside others.
    pub fn lane(&self) -> Lane {
        Lane {
            name: self.about.name.clone(),
            file: self.file.clone(),
            bytes: self.about.bytes,
        }
    }

    /// Its length in sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        self.about.bytes / 512
    }
}

fn found(path: &Path, bytes: u64) -> Result<Target, Failure> {
    let target = Target::find(path)?;
    let wrong = |text: String| Err(Failure::Usage(format!("--device {}: {text}", shown(path))));
    if target.identity.kind == Kind::File {
        return wrong(
            "is a file: attach it by `losetup --find --show` and name what that says".into(),
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

/// Fails if there is anything at either end of `target`.
fn is_empty(target: &Target) -> Result<(), Failure> {
    let path = &target.identity.path;
    let file = File::open(path).map_err(at(path))?;
    let mut buffer = Buffer::new(END);
    let len = target.identity.size.min(END as u64) as usize;
    for offset in [0, target.identity.size - len as u64] {
        let bytes = &mut buffer[..len];
        file.read_exact_at(bytes, offset).map_err(at(path))?;
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(Failure::Runtime(format!(
                "{}: it is not empty, and its data would be destroyed: nothing was written: add \
                 --yes if that is meant, or name another device",
                shown(&target.identity.given)
            )));
        }
    }
    Ok(())
}
