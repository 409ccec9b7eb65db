//! Loop devices, mounts and swap for tests, undone when they are dropped.
//!
//! They take root. Integration tests need [`crate::needs::LOOP_DEVICES`]; unit tests begin with
//! [`Lab::or_skip`].

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A directory of a test, with what it attached and mounted.
#[derive(Debug)]
pub struct Lab {
    directory: TempDir,
}

/// What is undone by a command.
#[derive(Debug)]
pub struct Undone(Command);

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
    /// An empty one.
    pub fn new() -> Lab {
        Lab {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// The same, if this process may attach loop devices. If not, it says SKIP, or fails where
    /// SQUALL_REQUIRE_LOOP is set.
    pub fn or_skip() -> Option<Lab> {
        if let Err(why) = available() {
            let is_required = std::env::var_os("SQUALL_REQUIRE_LOOP").is_some();
            assert!(!is_required, "required, but {why}");
            let line = format!("SKIP {why}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            return None;
        }
        Some(Lab::new())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn image(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path).unwrap().set_len(size).unwrap();
        path
    }

    /// A loop device with a new file of `size` bytes behind it.
    pub fn device(&self, size: u64) -> Loop {
        self.device_with(&[], size)
    }

    /// The same with `options` of losetup(8).
    pub fn device_with(&self, options: &[&str], size: u64) -> Loop {
        let count = fs::read_dir(self.directory.path()).unwrap().count();
        let image = self.image(&format!("image-{count}"), size);
        Loop::attach(options, &image)
    }

    /// `device`, with a new file system on it, mounted.
    pub fn mounted(&self, device: &Path) -> Undone {
        run(Command::new("mkfs.ext4").arg("-q").arg(device));
        self.mount(device)
    }

    /// `device`, mounted at `a mount`.
    pub fn mount(&self, device: &Path) -> Undone {
        let point = self.path("a mount");
        fs::create_dir_all(&point).unwrap();
        run(Command::new("mount").arg(device).arg(&point));
        Undone::by("umount", &[point.as_os_str()])
    }

    /// `name`, a device or file, as swap.
    pub fn swapped(name: &Path) -> Undone {
        run(Command::new("chmod").arg("600").arg(name));
        run(Command::new("mkswap").arg(name));
        run(Command::new("swapon").arg(name));
        Undone::by("swapoff", &[name.as_os_str()])
    }
}

impl Default for Lab {
    fn default() -> Lab {
        Lab::new()
    }
}

impl Loop {
    /// One with `file` behind it.
    pub fn attach(options: &[&str], file: &Path) -> Loop {
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]).args(options).arg(file);
        Loop::attached(output(&mut command).expect("loop devices can be attached"))
    }

    /// Puts `file` behind it in place of its own, unless somebody else is faster.
    pub fn replaced(self, file: &Path) -> Option<Loop> {
        let path = self.path.clone();
        drop(self);
        output(Command::new("losetup").arg(&path).arg(file)).ok()?;
        Some(Loop::attached(path.display().to_string()))
    }

    /// Tells it that its file has another length.
    pub fn resize(&self) {
        run(Command::new("losetup")
            .arg("--set-capacity")
            .arg(&self.path));
    }

    fn attached(path: String) -> Loop {
        let path = path.trim().into();
        Loop { path }
    }

    /// Makes a part of it partition `number`; no table is needed.
    pub fn part(&self, number: u32, start: u64, length: u64) -> Part {
        let number = number.to_string();
        let sectors = [start / 512, length / 512].map(|count| count.to_string());
        run(Command::new("addpart")
            .arg(&self.path)
            .arg(&number)
            .args(sectors));
        Part {
            path: format!("{}p{number}", self.path.display()).into(),
            _added: Undone::by("delpart", &[self.path.as_os_str(), number.as_ref()]),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(60);
        let before = diskseq(&self.path);
        run(Command::new("losetup").arg("--detach").arg(&self.path));
        // The kernel does it when nobody has it open, as those who look for a free one have.
        let started = Instant::now();
        while before.is_some() && diskseq(&self.path) == before && started.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Undone {
    fn by(program: &str, arguments: &[&OsStr]) -> Undone {
        let mut command = Command::new(program);
        command.args(arguments);
        Undone(command)
    }
}

impl Drop for Undone {
    fn drop(&mut self) {
        run(&mut self.0);
    }
}

/// Whether this process may attach loop devices.
///
/// # Errors
/// Why not.
pub fn available() -> Result<(), String> {
    let lab = Lab::new();
    let probe = lab.image("probe", 4096);
    let attach = ["--find", "--show"];
    let path = output(Command::new("losetup").args(attach).arg(&probe))
        .map_err(|why| format!("there are no loop devices: {}", why.trim()))?;
    drop(Loop::attached(path));
    Ok(())
}

fn run(command: &mut Command) {
    if let Err(why) = output(command) {
        // While another panic goes on this would only hide it.
        assert!(thread::panicking(), "{command:?}: {why}");
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// What stands for this attachment of the device at `path`, where it has no serial number:
/// `diskseq-` and the kernel's count of disks.
pub fn diskseq(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let count = fs::read_to_string(format!("/sys/class/block/{name}/diskseq")).ok()?;
    Some(format!("diskseq-{}", count.trim()))
}
