//! Prepares the machine for its first process, which finds nothing mounted and no module loaded, and switches it off.

use std::fs::{self, File};
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, finit_module, reboot};
use squall_probe::Mode;

use crate::Result;

/// The directory with modules to load in the order of their names, if the initramfs has any.
const MODULES: &str = "/modules";

/// `MODULE_INIT_COMPRESSED_FILE` of include/uapi/linux/module.h.
const COMPRESSED_FILE: i32 = 4;

/// Mounts what the probe reads and loads what the initramfs brings.
pub fn prepare() -> Result<()> {
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount_at(kind, place).map_err(|error| format!("mounting {place}: {error}"))?;
    }
    load_modules()
}

/// Mounts a file system. The kernel may already have mounted devtmpfs.
fn mount_at(kind: &str, place: &str) -> std::io::Result<()> {
    fs::create_dir_all(place)?;
    match mount(kind, place, kind, MountFlags::empty(), None) {
        Ok(()) | Err(Errno::BUSY) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn load_modules() -> Result<()> {
    let Ok(entries) = fs::read_dir(MODULES) else {
        return Ok(());
    };
    let mut modules: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    modules.sort();
    for module in modules {
        load(&module).map_err(|error| format!("loading {}: {error}", module.display()))?;
    }
    Ok(())
}

fn load(module: &Path) -> std::io::Result<()> {
    let flags = match module.extension() {
        Some(extension) if extension == "xz" => COMPRESSED_FILE,
        _ => 0,
    };
    Ok(finit_module(File::open(module)?, c"", flags)?)
}

/// The mode from the kernel's command line.
pub fn mode() -> Result<Mode> {
    let line = read("/proc/cmdline")?;
    mode_of(&line).ok_or_else(|| format!("no {}NAME in {line:?}", Mode::PARAMETER))
}

fn mode_of(line: &str) -> Option<Mode> {
    let mut words = line.split_ascii_whitespace();
    let name = words.find_map(|word| word.strip_prefix(Mode::PARAMETER))?;
    Mode::ALL.iter().copied().find(|mode| mode.name() == name)
}

/// The text of a file, without the line break at its end.
pub fn read(path: &str) -> Result<String> {
    let text = fs::read_to_string(path).map_err(|error| format!("reading {path}: {error}"))?;
    Ok(text.trim_end().to_owned())
}

/// Switches the machine off, which ends every process.
pub fn power_off() {
    if let Err(error) = reboot(RebootCommand::PowerOff) {
        eprintln!("squall-probe: the machine cannot be switched off: {error}");
    }
}
