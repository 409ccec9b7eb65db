//! Loop devices, mounts and swap for tests, undone on drop.
//!
//! They need root: tests declare [`crate::needs::LOOP_DEVICES`].

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use squall_tool_base::retry::retry;
use tempfile::TempDir;

/// How long the kernel, or a process of another test, may keep a device or a mount busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A test's directory, with the images that it attached and mounted.
#[derive(Debug)]
pub struct Lab {
    directory: TempDir,
}

/// A mounted file system, unmounted on drop.
#[derive(Debug)]
pub struct Mounted {
    device: PathBuf,
    point: PathBuf,
}

/// A command that undoes something on drop.
#[derive(Debug)]
pub struct Undone {
    program: &'static str,
    arguments: Vec<OsString>,
}

#[derive(Debug)]
pub struct Loop {
    pub path: PathBuf,
}

#[derive(Debug)]
pub struct Part {
    pub path: PathBuf,
    _added: Undone,
}

impl Lab {
    /// A lab with an empty directory.
    pub fn new() -> Lab {
        Lab {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn image(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path).unwrap().set_len(size).unwrap();
        path
    }

    /// A loop device backed by a new file of `size` bytes.
    pub fn device(&self, size: u64) -> Loop {
        self.device_with(&[], size)
    }

    /// Like [`Lab::device`], with `options` of losetup(8).
    pub fn device_with(&self, options: &[&str], size: u64) -> Loop {
        let count = fs::read_dir(self.directory.path()).unwrap().count();
        let image = self.image(&format!("image-{count}"), size);
        Loop::attach(options, &image)
    }

    /// Makes a file system on `device` and mounts it.
    pub fn mounted(&self, device: &Path) -> Mounted {
        run("mkfs.ext4", &["-q".as_ref(), device]);
        self.mount(device)
    }

    /// Mounts `device` at `a mount`.
    pub fn mount(&self, device: &Path) -> Mounted {
        let point = self.path("a mount");
        fs::create_dir_all(&point).unwrap();
        run("mount", &[device, &point]);
        Mounted {
            device: device.to_owned(),
            point,
        }
    }

    /// Uses `name`, a device or file, as swap.
    pub fn swapped(name: &Path) -> Undone {
        run("chmod", &["600".as_ref(), name]);
        run("mkswap", &[name]);
        run("swapon", &[name]);
        Undone::by("swapoff", &[name.as_os_str()])
    }
}

impl Default for Lab {
    fn default() -> Lab {
        Lab::new()
    }
}

impl Loop {
    /// Attaches a loop device to `file`.
    pub fn attach(options: &[&str], file: &Path) -> Loop {
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]).args(options).arg(file);
        Loop::from_path(output(&mut command).expect("loop devices can be attached"))
    }

    /// Attaches the device to `file` instead. None if another process was faster.
    pub fn replaced(self, file: &Path) -> Option<Loop> {
        let path = self.path.clone();
        drop(self);
        output(Command::new("losetup").arg(&path).arg(file)).ok()?;
        Some(Loop::from_path(path.display().to_string()))
    }

    /// Makes the device notice that its file's length has changed.
    pub fn resize(&self) {
        run("losetup", &["--set-capacity".as_ref(), self.path.as_path()]);
    }

    fn from_path(path: String) -> Loop {
        let path = path.trim().into();
        let device = Loop { path };
        device.forget_partitions();
        device
    }

    /// Removes partitions that a killed test has left: the kernel keeps them for the next file.
    fn forget_partitions(&self) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let entries = fs::read_dir(format!("/sys/block/{name}"))
            .into_iter()
            .flatten();
        let number = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.ok()?.file_name().into_string().ok()?;
            let number = entry.strip_prefix(&*name)?.strip_prefix('p')?;
            Some(number.to_owned())
        };
        for number in entries.filter_map(number) {
            run("delpart", &[self.path.as_os_str(), number.as_ref()]);
        }
    }

    /// Makes a part of the device partition `number`, without a partition table.
    pub fn part(&self, number: u32, start: u64, length: u64) -> Part {
        let number = number.to_string();
        let [start, length] = [start / 512, length / 512].map(|count| count.to_string());
        let parts = [&number, &start, &length].map(OsStr::new);
        run("addpart", &[&[self.path.as_os_str()], &parts[..]].concat());
        Part {
            path: format!("{}p{number}", self.path.display()).into(),
            _added: Undone::by("delpart", &[self.path.as_os_str(), number.as_ref()]),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let before = diskseq(&self.path);
        run("losetup", &["--detach".as_ref(), self.path.as_path()]);
        // The kernel detaches it once nobody has it open, as processes that look for a free one do.
        let started = Instant::now();
        while before.is_some() && diskseq(&self.path) == before && started.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Undone {
    fn by(program: &'static str, arguments: &[&OsStr]) -> Undone {
        let arguments = arguments.iter().map(OsString::from).collect();
        Undone { program, arguments }
    }
}

impl Drop for Undone {
    fn drop(&mut self) {
        run(self.program, &self.arguments);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.point);
        // A program of another test may have a copy of the mount, in a mount namespace that began meanwhile.
        let claim = || {
            let mut options = File::options();
            options.read(true).custom_flags(libc::O_EXCL);
            options.open(&self.device).map(drop)
        };
        let is_busy = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
        let _ = retry(PATIENCE, is_busy, claim);
    }
}

/// Unmounts the file system at `point`. A child of another test may have a file there open until it
/// runs its program.
pub fn unmount(point: &Path) {
    let result = retry(
        PATIENCE,
        |error| *error == Errno::BUSY,
        || rustix::mount::unmount(point, UnmountFlags::empty()),
    );
    assert!(
        result.is_ok() || thread::panicking(),
        "{point:?}: {result:?}"
    );
}

/// Whether this process may attach loop devices.
///
/// # Errors
/// Returns why not.
pub fn available() -> Result<(), String> {
    let lab = Lab::new();
    let probe = lab.image("probe", 4096);
    let attach = ["--find", "--show"];
    let path = output(Command::new("losetup").args(attach).arg(&probe))
        .map_err(|why| format!("there are no loop devices: {}", why.trim()))?;
    drop(Loop::from_path(path));
    Ok(())
}

/// Runs a command, again and again while a device is busy: programs of other tests look at all devices, as
/// mkfs.btrfs does, or for a free one.
fn run(program: &str, arguments: &[impl AsRef<OsStr>]) {
    let is_busy = |why: &String| ["busy", "in use"].iter().any(|word| why.contains(word));
    let attempt = || output(Command::new(program).args(arguments));
    if let Err(why) = retry(PATIENCE, is_busy, attempt) {
        // If this thread already panics, a second panic would only hide the first.
        assert!(thread::panicking(), "{program}: {why}");
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.env("LC_ALL", "C").output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The name of this attachment of the device at `path`, which has no serial number: `diskseq-` and the
/// kernel's count of disks.
pub fn diskseq(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let count = fs::read_to_string(format!("/sys/class/block/{name}/diskseq")).ok()?;
    Some(format!("diskseq-{}", count.trim()))
}
