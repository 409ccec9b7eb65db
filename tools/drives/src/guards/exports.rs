//! Finds the devices and files that this machine serves to others as NVMe namespaces, by themselves or with their
//! controller (passthru). The kernel's target driver (nvmet) does not claim them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::backing::Backing;
use crate::target::device::{Device, Number, text};

const SUBSYSTEMS: &str = "/sys/kernel/config/nvmet/subsystems";

#[derive(Debug)]
pub(super) struct Export {
    pub backing: Backing,
    /// The NVMe qualified name of the subsystem.
    pub subsystem: String,
}

/// All namespaces that are enabled; none where configfs is not mounted.
pub(super) fn all() -> Vec<Export> {
    let mut found = Vec::new();
    for subsystem in entries(Path::new(SUBSYSTEMS)) {
        let namespaces = entries(&subsystem.path().join("namespaces"));
        let backings = namespaces.filter_map(|namespace| find(&enabled(&namespace.path())?));
        let controller = enabled(&subsystem.path().join("passthru"));
        let passed = controller.map(|path| of_controller(&path));
        let backings = backings.chain(passed.into_iter().flatten());
        let subsystem = subsystem.file_name().to_string_lossy().into_owned();
        found.extend(backings.map(|backing| Export {
            backing,
            subsystem: subsystem.clone(),
        }));
    }
    found
}

fn entries(directory: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

/// The path that the namespace or controller in `directory` serves, if it is enabled.
fn enabled(directory: &Path) -> Option<PathBuf> {
    let is_enabled = text(&directory.join("enable")).as_deref() == Some("1");
    let mut path = fs::read(directory.join("device_path")).ok()?;
    path.pop_if(|byte| *byte == b'\n');
    is_enabled.then(|| OsString::from_vec(path).into())
}

/// The namespaces of the NVMe controller at `path`, by itself or in a subsystem.
fn of_controller(path: &Path) -> Vec<Backing> {
    let by_number = || {
        let number = Number::new(fs::metadata(path).ok()?.rdev());
        fs::canonicalize(format!("/sys/dev/char/{number}")).ok()
    };
    // Where the path leads nowhere in this mount namespace, its name tells.
    let controller = by_number().unwrap_or_else(|| path.to_owned());
    let Some(name) = controller.file_name() else {
        return Vec::new();
    };
    let is_of_it = |device: &Device| {
        let place = fs::canonicalize(device.join("device")).unwrap_or_default();
        device.has("nsid") && (place.file_name() == Some(name) || place.join(name).exists())
    };
    let all = Device::all().unwrap_or_default().into_iter();
    let of_it = all.filter(is_of_it);
    of_it.map(|device| Backing::Device(device.number)).collect()
}

/// What is at `path` or, where that leads nowhere in this mount namespace, the device of that name.
fn find(path: &Path) -> Option<Backing> {
    let in_sysfs = || {
        let directory = Path::new("/sys/class/block").join(path.file_name()?);
        let device = Device::in_directory(&directory).ok()?;
        Some(Backing::Device(device.number))
    };
    Backing::named(path).ok().or_else(in_sysfs)
}
