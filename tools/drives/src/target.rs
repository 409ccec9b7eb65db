//! Identifies a name on the command line as a drive, a partition or a file, and collects what the
//! kernel knows about it.

pub(crate) mod device;
mod drive;
pub(crate) mod medium;
pub(crate) mod partition;

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use device::{Device, Number};
use medium::{Match, Names};
use partition::share_bytes;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, SeekFrom, StatxFlags};
use squall_tool_base::failure::{at, cause};
use squall_tool_base::{Failure, named_file};

use crate::{Hidden, Identity, Kind, Storage, hidden, standby};

/// Directories of /dev/disk whose names belong to one drive. The other directories name a slot,
/// which another drive may be in, or contents, which a copy has too.
const STABLE: [&str; 2] = ["by-id", "by-diskseq"];

/// Advice in messages about names that are not valid targets.
const VALID_TARGETS: &str = "name a drive, a partition, a loop device or a file";

/// An identified target. It is not open.
#[derive(Clone, Debug)]
pub struct Target {
    pub identity: Identity,
    /// Whether the given name always means this target, as names below /dev/disk/by-id and of files do.
    pub has_stable_name: bool,
    pub(crate) place: Place,
}

/// The device or file, as the kernel identifies it while it is there.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Device {
        device: Device,
        attachment: Option<u64>,
        /// What tells its medium from others; `None` if the device stands on others.
        names: Option<Names>,
    },
    File(Inode),
}

impl Target {
    /// Identifies `given`. Fails if it cannot be overwritten: a directory, a character device, or
    /// anything of length zero.
    pub fn find(given: &Path) -> Result<Target, Failure> {
        let missing = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                invalid_target(given, &format!("{}: {VALID_TARGETS}", cause(&error)))
            }
            _ => at(given)(error),
        };
        let path = fs::canonicalize(given).map_err(missing)?;
        let metadata = fs::metadata(&path).map_err(missing)?;
        // Records hold paths as text.
        for name in [given, &path] {
            if name.to_str().is_none() {
                return Err(invalid_target(given, "its name is not UTF-8: rename it"));
            }
        }
        let kind = metadata.file_type();
        let target = match kind {
            _ if kind.is_block_device() => Target::of_device(given, &path, &metadata)?,
            _ if kind.is_file() => Target::of_file(given, &path, &metadata),
            _ => {
                let text = format!("is {}: {VALID_TARGETS}", named_file::kind(&metadata));
                return Err(invalid_target(given, &text));
            }
        };
        match (target.identity.size, target.identity.kind) {
            (0, Kind::File) => Err(invalid_target(
                given,
                "is empty: there is nothing to overwrite",
            )),
            (0, _) => Err(invalid_target(
                given,
                "has no bytes: insert a medium, or attach a file",
            )),
            _ => Ok(target),
        }
    }

    fn of_device(given: &Path, path: &Path, metadata: &Metadata) -> Result<Target, Failure> {
        let number = Number::new(metadata.rdev());
        let device = Device::at(number).map_err(|error| {
            let text = format!("/sys/dev/block/{number}: {}: mount sysfs", cause(&error));
            invalid_target(given, &text)
        })?;
        let unit = device.disk().value("queue/logical_block_size");
        let sector = unit.and_then(|unit| unit.try_into().ok());
        let identity = Identity {
            given: given.into(),
            path: path.into(),
            kind: drive::kind(&device),
            size: device.size(),
            sector: sector.ok_or_else(|| {
                invalid_target(given, "the kernel does not report its sector size")
            })?,
            model: drive::model(&device),
            serial: drive::serial(&device),
            wwid: drive::wwid(&device),
            number: number.to_string(),
            flash: drive::is_flash(&device),
            storage: drive::storage(&device),
        };
        let attachment = device.attachment();
        Ok(Target {
            identity,
            has_stable_name: is_stable(given),
            place: Place::Device {
                names: Names::of(&device.disk()),
                device,
                attachment,
            },
        })
    }

    fn of_file(given: &Path, path: &Path, metadata: &Metadata) -> Target {
        let inode = Inode::from_metadata(metadata);
        let identity = Identity {
            given: given.into(),
            path: path.into(),
            kind: Kind::File,
            size: metadata.len(),
            sector: direct_unit(path),
            model: None,
            serial: None,
            wwid: None,
            number: inode.to_string(),
            flash: None,
            storage: Storage::FileSystem,
        };
        Target {
            identity,
            has_stable_name: true,
            place: Place::File(inode),
        }
    }

    /// All drives and partitions that have a size above zero and a name in /dev.
    pub fn all() -> Result<Vec<Target>, Failure> {
        let mut found = Vec::new();
        let disks = Device::all().map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::NotFound => ": mount sysfs",
                _ => "",
            };
            Failure::Runtime(format!("/sys/block: {}{advice}", cause(&error)))
        })?;
        for disk in disks {
            let partitions = disk.partitions().unwrap_or_default();
            let devices = [disk].into_iter().chain(partitions);
            found.extend(devices.flat_map(|device| Target::find(&device.path())));
        }
        Ok(found)
    }

    /// The whole devices that are on a bus.
    pub fn drives() -> Result<Vec<Target>, Failure> {
        let mut drives = Target::all()?;
        drives.retain(|target| target.identity.kind != Kind::Partition && target.bus().is_some());
        Ok(drives)
    }

    /// Fails unless `file`, which was just opened, is still this target: the same device or inode,
    /// attachment (diskseq), serial number and size.
    pub fn confirm(&self, file: &File) -> Result<(), Failure> {
        let metadata = file.metadata().map_err(at(&self.identity.given))?;
        let is_same = match &self.place {
            Place::Device {
                device, attachment, ..
            } => {
                metadata.file_type().is_block_device()
                    && Number::new(metadata.rdev()) == device.number
                    && device.attachment() == *attachment
                    && drive::serial(device) == self.identity.serial
            }
            Place::File(inode) => Inode::from_metadata(&metadata) == *inode,
        };
        let size = length(file).map_err(at(&self.identity.given))?;
        let expected = self.identity.size;
        let changed = match is_same {
            false => "it is no longer the same target".into(),
            true if size != expected => format!(
                "it has {size} bytes, but had {expected} a moment \
                 ago"
            ),
            true => return Ok(()),
        };
        let text = format!("{changed}: nothing was written to it");
        Err(invalid_target(&self.identity.given, &text))
    }

    /// Whether the device is still attached. Always true for a file.
    pub fn is_attached(&self) -> bool {
        match &self.place {
            Place::Device {
                device, attachment, ..
            } => Device::at(device.number)
                .is_ok_and(|now| now == *device && now.attachment() == *attachment),
            Place::File(_) => true,
        }
    }

    /// The kernel's number for this attachment of the device (diskseq); `None` for a file, and before Linux 5.15.
    pub fn attachment(&self) -> Option<u64> {
        match &self.place {
            Place::Device { attachment, .. } => *attachment,
            Place::File(_) => None,
        }
    }

    /// What the drive is attached by: nvme, sata, usb, virtio, scsi, mmc; `None` for a file, and for a device
    /// that is only in memory or on others.
    pub fn bus(&self) -> Option<String> {
        drive::bus_name(self.device()?)
    }

    /// The file behind a loop device, in one line.
    pub fn backing_file(&self) -> Option<String> {
        let is_loop = self.identity.kind == Kind::Loop;
        let file = is_loop.then(|| self.device()?.text("loop/backing_file"));
        file.flatten()
    }

    /// How much the drive hides from its host; `None` if it is no ATA drive, or cannot be asked, for which one must be
    /// root.
    pub fn hidden(&self) -> Option<Hidden> {
        let is_asked =
            self.identity.kind == Kind::Disk && drive::takes_ata_commands(self.device()?);
        is_asked.then(|| hidden::hidden(self)).flatten()
    }

    /// Whether it is a whole drive that the kernel drives as a SCSI disk, as it does those on SATA, SAS and USB: only these
    /// have a command for standby.
    pub fn has_standby(&self) -> bool {
        self.identity.kind == Kind::Disk && self.device().is_some_and(drive::is_scsi_disk)
    }

    /// Puts the drive into standby, until it is used again. Gives the reason if that failed.
    pub fn standby(&self) -> Result<(), String> {
        let device = self.device().ok_or("it is a file")?;
        let file = self.open_to_ask(OFlags::empty());
        let file = file.ok_or("it is gone, or cannot be opened")?;
        standby::standby(&file, drive::takes_ata_commands(device))
    }

    /// Whether `other` is the same drive, or a partition of it, by whatever path, or cannot be told apart from it.
    pub fn may_be_on_same_drive_as(&self, other: &Target) -> bool {
        let (Some(one), Some(two)) = (self.device(), other.device()) else {
            return false;
        };
        let (one, two) = (one.disk(), two.disk());
        one == two
            || match self.match_media(other) {
                Some(Match::Certain) => true,
                // What cannot be read cannot be told apart.
                Some(Match::Possible(_)) => {
                    !medium::are_contents_different(&one, &two).unwrap_or(false)
                }
                None => false,
            }
    }

    /// Whether both certainly lead to the same bytes, or some of them, by two paths to their medium.
    pub fn is_another_path_to(&self, other: &Target) -> bool {
        let (Some(one), Some(two)) = (self.device(), other.device()) else {
            return false;
        };
        let is_certain = self.match_media(other) == Some(Match::Certain);
        is_certain && one.disk() != two.disk() && share_bytes(one, two)
    }

    /// How the media of both are alike, as far as their names tell; `None` if they are two.
    fn match_media(&self, other: &Target) -> Option<Match> {
        let names = |target: &Target| match &target.place {
            Place::Device { names, .. } => names.clone(),
            Place::File(_) => None,
        };
        names(self)?.compare(&names(other)?)
    }

    /// Whether `serial` is its serial number or its worldwide identifier.
    pub fn has_serial(&self, serial: &str) -> bool {
        let known = [&self.identity.serial, &self.identity.wwid];
        known
            .into_iter()
            .flatten()
            .any(|their| their == serial.trim())
    }

    /// A name below /dev/disk/by-id that always means this device, if udev gives it one.
    pub fn stable_name(&self) -> Option<PathBuf> {
        let links = fs::read_dir("/dev/disk/by-id").ok()?.flatten();
        let mut names: Vec<PathBuf> = links
            .map(|link| link.path())
            .filter(|link| fs::canonicalize(link).is_ok_and(|path| path == self.identity.path))
            .collect();
        // Names of letters tell a person more than those of numbers: ata-… comes before wwn-….
        names.sort();
        names.into_iter().next()
    }

    /// The namespace number, if the target is a whole NVMe namespace.
    pub fn namespace(&self) -> Option<u64> {
        self.device()?.value("nsid")
    }

    /// The directory in sysfs of the NVM subsystem, or of the only controller, that an NVMe namespace
    /// belongs to. Namespaces with the same one are erased together by Sanitize.
    pub fn subsystem(&self) -> Option<PathBuf> {
        self.namespace()?;
        fs::canonicalize(self.device()?.join("device")).ok()
    }

    /// Opens it only to ask it something, with these `flags` besides. Nobody is kept from using it, and closing it makes
    /// no other program probe it again. `None` if it is no device, or cannot be opened.
    pub fn open_to_ask(&self, flags: OFlags) -> Option<File> {
        if self.identity.kind == Kind::File {
            return None;
        }
        let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(&self.identity.path, flags, Mode::empty()).ok()?;
        let file = File::from(file);
        self.confirm(&file).ok()?;
        Some(file)
    }

    pub(crate) fn device(&self) -> Option<&Device> {
        match &self.place {
            Place::Device { device, .. } => Some(device),
            Place::File(_) => None,
        }
    }
}

/// The length in bytes that `file`, a file or a device, has now.
pub fn length(file: &File) -> io::Result<u64> {
    Ok(rustix::fs::seek(file, SeekFrom::End(0))?)
}

/// Whether `given`, before links are followed, is a name in a [`STABLE`] directory.
fn is_stable(given: &Path) -> bool {
    let Ok(path) = std::path::absolute(given) else {
        return false;
    };
    let parts: Option<Vec<&str>> = path
        .components()
        .filter(|part| *part != Component::RootDir)
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    matches!(parts.as_deref(), Some(["dev", "disk", by, _]) if STABLE.contains(by))
}

fn invalid_target(name: &Path, text: &str) -> Failure {
    Failure::Runtime(format!("{}: {text}", shown(name)))
}

/// `path` for a terminal, with unprintable characters escaped.
pub fn shown(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        let escaped = c.escape_debug();
        match c {
            '"' | '\'' | '\\' => text.push(c),
            _ => text.extend(escaped),
        }
    }
    text
}

/// A unit, in bytes, that every file system with direct transfers accepts.
const COMMON_UNIT: u32 = 4096;

/// What identifies a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    /// The device of its file system.
    pub device: Number,
    /// The inode number in that file system.
    pub number: u64,
}

impl Inode {
    pub fn from_metadata(metadata: &Metadata) -> Inode {
        Inode {
            device: Number::new(metadata.dev()),
            number: metadata.ino(),
        }
    }
}

impl fmt::Display for Inode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.number)
    }
}

/// The unit of direct transfers of the file at `path`, in bytes.
fn direct_unit(path: &Path) -> u32 {
    let wanted = StatxFlags::DIOALIGN;
    let unit = rustix::fs::statx(CWD, path, AtFlags::empty(), wanted)
        .ok()
        .filter(|statx| statx.stx_mask & wanted.bits() != 0)
        .map(|statx| statx.stx_dio_offset_align);
    match unit {
        None | Some(0) => COMMON_UNIT,
        Some(unit) => unit,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::symlink;

    use squall_testing::loops::Lab;

    use super::*;

    pub(crate) fn find(path: &Path) -> Target {
        Target::find(path).expect("a target")
    }

    const MIB: u64 = 1 << 20;

    /// The failure's text for `path`, which must not be a target.
    #[track_caller]
    fn refusal(path: &Path) -> String {
        Target::find(path).expect_err("no target").into_text()
    }

    fn open(path: &Path) -> File {
        OpenOptions::new().write(true).open(path).unwrap()
    }

    #[test]
    fn what_is_no_target() {
        let lab = Lab::new();
        let missing = lab.path("missing\x1b[2J");
        let text = refusal(&missing);
        assert!(text.contains(r"missing\u{1b}[2J: No such file"), "{text}");
        assert!(text.contains("name a drive"), "{text}");
        for (path, what) in [
            (lab.path(""), "is a directory: name a drive"),
            ("/dev/null".into(), "is a character device: name a drive"),
            (lab.image("empty", 0), "is empty"),
        ] {
            let text = refusal(&path);
            assert!(text.contains(what), "{text}");
        }
    }

    #[test]
    fn a_file_is_itself_by_any_name() {
        let lab = Lab::new();
        let image = lab.image("image", 12_345);
        let link = lab.path("link");
        symlink(&image, &link).unwrap();
        let target = find(&link);
        let identity = &target.identity;
        assert_eq!((identity.kind, identity.size), (Kind::File, 12_345));
        assert_eq!(
            (&identity.given, &identity.path),
            (&link, &fs::canonicalize(&image).unwrap())
        );
        assert!(
            [512, 4096].contains(&identity.sector),
            "{}",
            identity.sector
        );
        assert!(target.has_stable_name && target.is_attached());
        target.confirm(&open(&image)).unwrap();
    }

    #[test]
    fn a_file_that_changed_is_another() {
        let lab = Lab::new();
        let image = lab.image("image", MIB);
        let target = find(&image);

        open(&image).set_len(MIB + 1).unwrap();
        let text = target.confirm(&open(&image)).unwrap_err().into_text();
        assert!(
            text.contains("1048577 bytes, but had 1048576 a moment ago: nothing was written"),
            "{text}"
        );

        open(&image).set_len(MIB).unwrap();
        target.confirm(&open(&image)).unwrap();

        let other = lab.image("other", MIB);
        fs::rename(&other, &image).unwrap();
        let text = target.confirm(&open(&image)).unwrap_err().into_text();
        assert!(
            text.contains("no longer the same target: nothing was written"),
            "{text}"
        );
    }

    #[test]
    fn names_that_stay() {
        for (name, is) in [
            ("/dev/disk/by-id/ata-WDC_WD40EFRX", true),
            ("/dev//disk/by-path/pci-0000:00:1f.2-ata-1", false),
            ("/dev/disk/by-diskseq/12", true),
            ("/dev/sdb", false),
            ("/dev/disk/by-id/../../sdb", false),
            ("/dev/disk/by-id", false),
            ("/dev/disk/by-luck/x", false),
            ("/mnt/dev/disk/by-id/x", false),
            ("by-id/x", false),
        ] {
            assert_eq!(is_stable(Path::new(name)), is, "{name}");
        }
    }
}
