//! Devices of the kernel's device mapper that disappear when this process ends; its control device, with requests that
//! concern no single device of ours; and how modules are loaded.

mod device;

pub use device::{Mapped, PREFIX, Table};

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Output};
use std::time::Duration;

use rustix::io::Errno;
use squall_drives::mapper::{Answer, CONTROL, Command, Header, flag, request};
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

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

/// Loads a module. Whether that succeeded shows only when the module is used.
fn load_module(name: &str) {
    let _ = modprobe(&["-q", name]);
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
