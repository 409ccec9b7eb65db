//! A device of the device mapper that exists only as long as this process uses it.
//!
//! From its first table on, the device is open here and marked for removal when nobody has it open
//! (`DM_DEFERRED_REMOVE`). So the kernel removes it when this process ends, in whatever way.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, unlink};
use rustix::io::{Errno, retry_on_intr};
use squall_drives::Number;
use squall_drives::mapper::{Command, Header, SPEC_LEN, flag};
use squall_tool_base::Failure;
use squall_tool_base::retry::retry;
use zeroize::Zeroizing;

use super::{Control, SETTLING_TIME, failed};

/// The prefix of the names of all devices that this program makes.
pub const PREFIX: &str = "squall-dmcrypt-";

/// Flags for udev's rules, in the upper half of `event_nr`: udev is not to look into the device, nor
/// to name it by its content (DM_UDEV_DISABLE_SUBSYSTEM_RULES_FLAG and similar ones of libdevmapper).
const NOT_FOR_UDEV: u32 = (0x02 | 0x04 | 0x08) << 16;

/// A table with one target that covers the whole device.
pub struct Table {
    /// The target's name, as `crypt`.
    pub target: &'static str,
    /// Length in sectors of 512 bytes.
    pub sectors: u64,
    /// The target's parameters, which may hold a key.
    pub parameters: Zeroizing<String>,
}

impl Table {
    /// A table without a key.
    pub fn new(target: &'static str, sectors: u64, parameters: String) -> Table {
        let parameters = Zeroizing::new(parameters);
        Table {
            target,
            sectors,
            parameters,
        }
    }

    /// A table whose device refuses all transfers.
    pub fn refusing(sectors: u64) -> Table {
        Table::new("error", sectors, String::new())
    }

    /// The table in the kernel's format.
    fn payload(&self) -> Zeroizing<Vec<u8>> {
        let len = (SPEC_LEN + self.parameters.len() + 1).next_multiple_of(8);
        let mut payload = Zeroizing::new(Vec::with_capacity(len));
        payload.extend_from_slice(&0_u64.to_ne_bytes());
        payload.extend_from_slice(&self.sectors.to_ne_bytes());
        payload.extend_from_slice(&0_i32.to_ne_bytes());
        payload.extend_from_slice(&(len as u32).to_ne_bytes());
        payload.extend_from_slice(self.target.as_bytes());
        payload.resize(SPEC_LEN, 0);
        payload.extend_from_slice(self.parameters.as_bytes());
        payload.resize(len, 0);
        payload
    }
}

/// A device, removed when dropped.
#[derive(Debug)]
pub struct Mapped {
    control: Rc<Control>,
    name: String,
    number: Number,
    /// Keeps the device open; it is removed when this is closed.
    keeper: Option<File>,
}

impl Mapped {
    /// Makes a device with `table`, which is not yet in use. The name is [`PREFIX`], this process's
    /// id, and `label`.
    ///
    /// A device has no node before it has a table, so the first table refuses all transfers. The real
    /// one is loaded once the kernel will remove the device with this process, so no device that is
    /// left behind holds a key, or the device below.
    pub fn create(control: &Rc<Control>, label: &str, table: &Table) -> Result<Mapped, Failure> {
        let name = format!("{PREFIX}{}-{label}", std::process::id());
        let header = Header::for_device(&name).with_uuid();
        let created = control.ask(Command::Create, header, &[]);
        let created = created.map_err(|error| failed(&format!("device {name}"), error))?;
        let mut device = Mapped {
            control: control.clone(),
            name,
            number: Number::new(created.header.dev),
            keeper: None,
        };
        device.load_or_fail(&Table::refusing(table.sectors))?;
        device.keeper = Some(device.open(OFlags::RDONLY)?);
        control
            .remove(&device.name)
            .map_err(|error| failed(&format!("removal of device {}", device.name), error))?;
        device.load_or_fail(table)?;
        Ok(device)
    }

    /// Makes a device and brings its table into use.
    pub fn start(control: &Rc<Control>, label: &str, table: &Table) -> Result<Mapped, Failure> {
        let device = Mapped::create(control, label, table)?;
        device.resume()?;
        Ok(device)
    }

    /// Loads another table and brings it into use.
    pub fn replace(&self, table: &Table) -> Result<(), Failure> {
        self.load_or_fail(table)?;
        self.resume()
    }

    fn load_or_fail(&self, table: &Table) -> Result<(), Failure> {
        self.load(table).map_err(|error| {
            let what = format!("table {} of device {}", table.target, self.name);
            failed(&what, error)
        })
    }

    /// Loads another table, which is not yet in use.
    pub fn load(&self, table: &Table) -> Result<(), Errno> {
        let mut header = Header::for_device(&self.name);
        header.target_count = 1;
        header.flags = flag::SECURE_DATA;
        let payload = table.payload();
        self.control.ask(Command::Load, header, &payload).map(drop)
    }

    /// Brings the loaded table into use.
    fn resume(&self) -> Result<(), Failure> {
        let mut header = Header::for_device(&self.name);
        header.event_nr = NOT_FOR_UDEV;
        let resumed = self.control.ask(Command::Suspend, header, &[]);
        resumed
            .map(drop)
            .map_err(|error| failed(&format!("start of device {}", self.name), error))
    }

    /// The device number, which names the device in tables.
    pub fn number(&self) -> Number {
        self.number
    }

    pub fn open(&self, flags: OFlags) -> Result<File, Failure> {
        open_number(self.number, flags).map_err(|error| {
            let why = squall_tool_base::failure::cause(&error);
            Failure::Runtime(format!("device {} ({}): {why}", self.name, self.number))
        })
    }

    /// Asks for the device's removal; fails with BUSY until it is gone.
    fn remove(&self) -> Result<(), Errno> {
        if !self.exists() {
            return Ok(());
        }
        // This fails while somebody has the device open, as udev may for a moment; the caller retries.
        let _ = self.control.remove(&self.name);
        Err(Errno::BUSY)
    }

    fn exists(&self) -> bool {
        let status = self
            .control
            .ask(Command::Status, Header::for_device(&self.name), &[]);
        !matches!(status.map(drop), Err(Errno::NXIO))
    }
}

impl Drop for Mapped {
    /// Waits until the device is gone, because the one below it cannot be removed before.
    fn drop(&mut self) {
        drop(self.keeper.take());
        let _ = retry(
            SETTLING_TIME,
            |&error| error == Errno::BUSY,
            || self.remove(),
        );
    }
}

/// Opens the block device `number` by the node that the kernel makes where devtmpfs is mounted at /dev, and by a
/// temporary one elsewhere, which takes CAP_MKNOD and a writable /dev.
fn open_number(number: Number, flags: OFlags) -> io::Result<File> {
    let about = fs::read_to_string(format!("/sys/dev/block/{number}/uevent")).unwrap_or_default();
    let name = about.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    match name.map(|name| open_node(&Path::new("/dev").join(name), number, flags)) {
        // It is missing, or belongs to another device by now.
        None | Some(Err(Errno::NOENT | Errno::NXIO)) => open_own(number, flags),
        Some(opened) => Ok(opened?),
    }
}

/// Opens a temporary node of our own.
fn open_own(number: Number, flags: OFlags) -> io::Result<File> {
    let path = format!("/dev/.squall-{}-{}", std::process::id(), number.minor);
    let path = Path::new(&path);
    let dev = makedev(number.major, number.minor);
    // A killed process with the same id may have left one.
    let _ = unlink(path);
    mknodat(
        CWD,
        path,
        FileType::BlockDevice,
        Mode::RUSR | Mode::WUSR,
        dev,
    )?;
    let opened = open_node(path, number, flags);
    unlink(path)?;
    Ok(opened?)
}

/// Opens the node at `path`; fails with NXIO if it is another device's.
fn open_node(path: &Path, number: Number, flags: OFlags) -> Result<File, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()));
    let file = File::from(opened?);
    let is_it = |metadata: Metadata| Number::new(metadata.rdev()) == number;
    match file.metadata().is_ok_and(is_it) {
        true => Ok(file),
        false => Err(Errno::NXIO),
    }
}
