//! Devices of the kernel's device mapper, its control device, and how modules are loaded.
//!
//! From its first table on, a device is open here and marked for removal when nobody has it open
//! (`DM_DEFERRED_REMOVE`). So the kernel removes it when this process ends, in whatever way.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{self, Output};
use std::rc::Rc;
use std::time::Duration;
use std::{env, io};

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, unlink};
use rustix::io::{Errno, retry_on_intr};
use squall_drives::Number;
use squall_drives::mapper::{Answer, CONTROL, Command, Header, SPEC_LEN, flag, request};
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use squall_tool_base::retry::retry;
use zeroize::Zeroizing;

/// The prefix of the names of all devices that this program makes.
pub const PREFIX: &str = "squall-dmcrypt-";

/// How long to wait for programs such as udev, which open a new disk to examine it.
pub const SETTLING_TIME: Duration = Duration::from_secs(20);

/// The control device, open.
#[derive(Debug)]
pub struct Control(File);

impl Control {
    /// Opens it and checks that the kernel has dm-crypt; loads the modules if needed.
    pub fn open() -> Result<Control, Failure> {
        let control = match File::open(CONTROL) {
            Err(error) if is_absent(&error) => {
                load_module("dm-mod");
                File::open(CONTROL)
            }
            opened => opened,
        };
        let control = Control(control.map_err(|error| Failure::Runtime(cannot_open(&error)))?);
        match control.has("crypt") {
            Ok(()) => Ok(control),
            Err(Errno::PERM | Errno::ACCESS) => Err(Failure::Runtime(forbidden())),
            Err(Errno::NOTTY) => Err(Failure::Runtime(
                "this kernel's device mapper does not report its targets: use Linux 5.4 or later"
                    .into(),
            )),
            Err(_) => Err(Failure::Runtime(
                "this kernel's device mapper has no dm-crypt: load the module dm-crypt, or use a \
                 kernel that has it (CONFIG_DM_CRYPT)"
                    .into(),
            )),
        }
    }

    /// Asks whether the kernel has `target`; loads its module if needed.
    pub fn has(&self, target: &str) -> Result<(), Errno> {
        let asked = || self.ask(Command::TargetVersion, Header::for_device(target), &[]);
        match asked() {
            Err(Errno::INVAL | Errno::NOENT | Errno::NODEV) => {
                load_module(&format!("dm-{target}"));
                asked().map(drop)
            }
            answer => answer.map(drop),
        }
    }

    pub fn names(&self) -> Result<Vec<String>, Failure> {
        let answer = self.ask(Command::List, Header::for_device(""), &[]);
        let answer = answer.map_err(|error| failed("list of devices", error))?;
        Ok(names(&answer.data))
    }

    /// Removes a device, or has the kernel remove it as soon as nobody has it open.
    pub fn remove(&self, name: &str) -> Result<(), Errno> {
        let mut header = Header::for_device(name);
        header.flags = flag::DEFERRED_REMOVE;
        match self.ask(Command::Remove, header, &[]) {
            Ok(_) | Err(Errno::NXIO) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn ask(&self, command: Command, header: Header, payload: &[u8]) -> Result<Answer, Errno> {
        request(&self.0, command, header, payload)
    }
}

/// Reads the names in the kernel's answer. An entry is a device number, the distance to the next entry
/// (0 in the last one), and a name that ends with 0.
fn names(mut data: &[u8]) -> Vec<String> {
    const NAME: usize = 12;
    let mut names = Vec::new();
    while let (Some(dev), Some(next), Some(name)) =
        (data.get(..8), data.get(8..12), data.get(NAME..))
    {
        // A list without devices is one entry with the number 0.
        if dev == [0; 8] {
            break;
        }
        let end = name
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(name.len());
        names.push(String::from_utf8_lossy(&name[..end]).into_owned());
        let next = u32::from_ne_bytes(next.try_into().unwrap_or_default()) as usize;
        data = match next {
            0 => break,
            next => data.get(next..).unwrap_or_default(),
        };
    }
    names
}

fn failed(what: &str, error: Errno) -> Failure {
    match error {
        Errno::PERM | Errno::ACCESS => Failure::Runtime(forbidden()),
        error => Failure::Runtime(format!("device mapper: {what}: {}", cause(&error.into()))),
    }
}

/// Whether the node is missing, or its driver is.
fn is_absent(error: &io::Error) -> bool {
    let errors = [Errno::NOENT, Errno::NODEV, Errno::NXIO];
    Errno::from_io_error(error).is_some_and(|error| errors.contains(&error))
}

fn cannot_open(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => forbidden(),
        _ if !is_absent(error) => format!("{CONTROL}: {}", cause(error)),
        _ if Path::new("/sys/class/misc/device-mapper").exists() => format!(
            "{CONTROL} is missing although this kernel has a device mapper: mount devtmpfs at \
             /dev, or run this outside of the container"
        ),
        _ => format!(
            "this kernel has no device mapper ({CONTROL}: {}): load the module dm-mod as root, if \
             there is one, or use a kernel that has it (CONFIG_BLK_DEV_DM)",
            cause(error)
        ),
    }
}

fn forbidden() -> String {
    format!("{CONTROL}: only root may use the device mapper: run this as root, with CAP_SYS_ADMIN")
}

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

/// Loads a module. Whether that succeeded shows only when the module is used.
fn load_module(name: &str) {
    let _ = modprobe(&["-q", name]);
}

/// Runs modprobe with `args`; the error is of kind NotFound if it is not installed.
pub fn modprobe(args: &[&str]) -> io::Result<Output> {
    let given = env::var_os("PATH").unwrap_or_default();
    let mut command = process::Command::new("modprobe");
    command.env("PATH", search_path(&given));
    command.args(args).output()
}

/// The search path for modprobe: a user's often lacks the sbin directories. It has no empty part, which would be the
/// current directory, of which root must execute nothing.
fn search_path(given: &OsStr) -> OsString {
    let sbin = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let all = env::split_paths(given).chain(sbin);
    let named = all.filter(|part| !part.as_os_str().is_empty());
    env::join_paths(named).expect("what was split has no colon")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modprobe_is_not_looked_for_in_the_current_directory() {
        for (given, expected) in [
            ("", "/usr/sbin:/sbin"),
            (":", "/usr/sbin:/sbin"),
            ("/bin", "/bin:/usr/sbin:/sbin"),
            (":/bin::/opt/bin:", "/bin:/opt/bin:/usr/sbin:/sbin"),
        ] {
            assert_eq!(search_path(given.as_ref()), expected, "{given:?}");
        }
    }
}
