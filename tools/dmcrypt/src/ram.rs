//! A temporary RAM disk, made by the kernel module brd.
//!
//! brd's disks exist as long as the module is loaded, so this program loads it and unloads it again.
//! If brd is loaded already, it is left alone. Before it loads brd, a run notes its intention, so that
//! the next run can tell what a killed run left behind from somebody else's disk.

use std::path::Path;
use std::{fs, io};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use squall_tool_base::Failure;
use squall_tool_base::failure::{at, cause};
use squall_tool_base::retry::retry;

use crate::mapper::{SETTLING_TIME, modprobe};

/// The module, and its directory in sysfs, which exists while it is loaded.
const MODULE: &str = "brd";
const LOADED: &str = "/sys/module/brd";

/// The node, the sysfs directory and the size file of brd's first disk.
const NODE: &str = "/dev/ram0";
const BLOCK: &str = "/sys/block/ram0";
const SIZE: &str = "/sys/block/ram0/size";

/// A RAM disk may take one part in this many of the available memory.
const MEMORY_DIVISOR: u64 = 2;

/// Advice for machines on which no RAM disk can be made.
const OR_DEVICE: &str = "or name a device with --device";

/// A RAM disk, removed when dropped.
#[derive(Debug)]
pub struct Ram(());

impl Ram {
    /// Makes a disk of `bytes`, if there is memory for it and brd is not loaded yet. `note` stores
    /// the text that [`Ram::unload_leftover`] needs if this process is killed.
    pub fn make(bytes: u64, note: impl Fn(&str) -> Result<(), Failure>) -> Result<Ram, Failure> {
        check_memory(bytes, &read("/proc/meminfo")?)?;
        check_not_loaded(Path::new(LOADED))?;
        let kib = bytes.div_ceil(1024);
        note(LOADING)?;
        load(&["rd_nr=1", &format!("rd_size={kib}"), "max_part=0"])?;
        // If somebody else loaded brd first, its disks have another length.
        check_length(kib)?;
        let ram = Ram(());
        note(&disk(Path::new(BLOCK)).unwrap_or_default())?;
        check_unused_by_others()?;
        Ok(ram)
    }

    /// The disk's node.
    pub fn path(&self) -> &'static Path {
        Path::new(NODE)
    }

    /// Unloads brd if it is the one that a killed run `noted`.
    pub fn unload_leftover(noted: &str) -> Result<(), Failure> {
        if is_ours(noted, Path::new(LOADED), Path::new(BLOCK))? {
            unload()
        } else {
            Ok(())
        }
    }

    /// Whether brd is loaded, no matter by whom.
    pub fn has_driver() -> bool {
        Path::new(LOADED).exists()
    }
}

impl Drop for Ram {
    fn drop(&mut self) {
        // If the disk is still in use, the next run finds it in the note.
        let _ = unload();
    }
}

/// Fails if somebody else uses the first disk.
fn check_unused_by_others() -> Result<(), Failure> {
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let open = || rustix::fs::open(NODE, flags, Mode::empty()).map(drop);
    let passes = |error: &Errno| matches!(*error, Errno::BUSY | Errno::NOENT);
    retry(SETTLING_TIME, passes, open).map_err(|error| match error {
        Errno::BUSY => wrong(&format!("another process uses it: end that, {OR_DEVICE}")),
        error => at(Path::new(NODE))(error.into()),
    })
}

/// Fails unless the first disk has the length that was asked for.
fn check_length(kib: u64) -> Result<(), Failure> {
    if !Path::new(SIZE).exists() {
        return Err(wrong(&format!(
            "it is missing although brd was loaded: leave brd unchanged in modprobe.d, {OR_DEVICE}"
        )));
    }
    let sectors = read(SIZE)?;
    if sectors.trim().parse() == Ok(kib * 2) {
        Ok(())
    } else {
        Err(wrong(&format!(
            "it has {} sectors instead of {}: somebody else has loaded brd: unload it, {OR_DEVICE}",
            sectors.trim(),
            kib * 2
        )))
    }
}

fn wrong(text: &str) -> Failure {
    Failure::Runtime(format!("{NODE}: {text}"))
}

/// Fails if `bytes` is more than a RAM disk may take of the available memory in /proc/meminfo.
fn check_memory(bytes: u64, meminfo: &str) -> Result<(), Failure> {
    let kib = meminfo.lines().find_map(|line| {
        let rest = line.strip_prefix("MemAvailable:")?;
        rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let Some(kib) = kib else {
        return Err(Failure::Runtime(format!(
            "/proc/meminfo does not say how much memory is free for a RAM disk: mount /proc, \
             {OR_DEVICE}"
        )));
    };
    match kib * 1024 / MEMORY_DIVISOR {
        most if bytes <= most => Ok(()),
        most => Err(Failure::Usage(format!(
            "a RAM disk of {} MiB is more than half of the memory that is free: use --size {}MiB, \
             {OR_DEVICE}",
            bytes >> 20,
            most >> 20
        ))),
    }
}

fn check_not_loaded(loaded: &Path) -> Result<(), Failure> {
    if !loaded.exists() {
        return Ok(());
    }
    let how = if loaded.join("initstate").exists() {
        "somebody else has already loaded brd: name one of its disks with --device, or unload it \
         with `modprobe -r brd`"
    } else {
        "brd is built into this kernel: name one of its disks with --device, such as /dev/ram0"
    };
    Err(Failure::Runtime(how.into()))
}

fn load(parameters: &[&str]) -> Result<(), Failure> {
    let arguments = [&[MODULE], parameters].concat();
    match modprobe(&arguments) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(not_loaded(&String::from_utf8_lossy(&output.stderr))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::Runtime(format!(
            "a RAM disk needs the kernel's module brd, and there is no modprobe to load it: \
             install kmod, {OR_DEVICE}"
        ))),
        Err(error) => Err(at(Path::new("modprobe"))(error)),
    }
}

/// The message about what modprobe said.
fn not_loaded(said: &str) -> Failure {
    let said = said.lines().next().unwrap_or("it does not say why");
    let how = match said {
        _ if said.contains("not found") => "install the package with all modules of this kernel",
        _ if said.contains("not permitted") => "run this as root, outside of containers",
        _ => "load it yourself",
    };
    Failure::Runtime(format!(
        "a RAM disk needs the kernel's module brd, which could not be loaded ({said}): {how}, {OR_DEVICE}"
    ))
}

/// Unloads brd as soon as nobody uses it; does nothing if it is not loaded.
fn unload() -> Result<(), Failure> {
    if !Path::new(LOADED).exists() {
        return Ok(());
    }
    let delete = || rustix::system::delete_module(c"brd", at_once());
    let passes = |error: &Errno| matches!(*error, Errno::BUSY | Errno::AGAIN);
    match retry(SETTLING_TIME, passes, delete) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(Failure::Runtime(format!(
            "brd, which holds a RAM disk, could not be unloaded ({}): end what uses {NODE}, then \
             run `modprobe -r brd`",
            cause(&error.into())
        ))),
    }
}

/// The flag with which delete_module(2) does not wait for users of the module.
fn at_once() -> i32 {
    OFlags::NONBLOCK.bits() as i32
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(at(Path::new(path)))
}

/// The note before brd is loaded: if brd is there, this program may have loaded it.
pub const LOADING: &str = "loading";

/// Identifies the disk at `block` in sysfs by its size and its diskseq, which no other disk gets
/// until the next boot; `None` if there is no disk.
pub fn disk(block: &Path) -> Option<String> {
    let number = fs::read_to_string(block.join("diskseq")).unwrap_or_default();
    let size = fs::read_to_string(block.join("size")).ok()?;
    Some(format!("disk {} {}", number.trim(), size.trim()))
}

/// Whether the disk at `block` is the one that was `noted`. Fails if that is unknown: the note is
/// [`LOADING`], and brd is at `loaded`.
pub fn is_ours(noted: &str, loaded: &Path, block: &Path) -> Result<bool, Failure> {
    match noted {
        LOADING if loaded.exists() => Err(Failure::Runtime(
            "brd is loaded, perhaps by a run that was killed at its start: if nobody needs it, \
             unload it with `modprobe -r brd`"
                .into(),
        )),
        noted => Ok(disk(block).is_some_and(|disk| disk == noted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:        8000000 kB\nMemFree:          100000 kB\n\
                           MemAvailable:    2097152 kB\nBuffers:           10000 kB\n";

    fn text(result: Result<(), Failure>) -> String {
        result.expect_err("it is refused").into_text()
    }

    #[test]
    fn half_of_the_available_memory_is_the_limit() {
        assert!(check_memory(1 << 30, MEMINFO).is_ok());
        let refused = text(check_memory((1 << 30) + 1, MEMINFO));
        assert!(refused.contains("use --size 1024MiB"), "{refused}");
        assert!(text(check_memory(1, "MemTotal: 1 kB\n")).contains("/proc/meminfo"));
    }

    #[test]
    fn a_loaded_brd_is_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let module = directory.path().join("brd");
        assert!(check_not_loaded(&module).is_ok());
        fs::create_dir(&module).expect("it is made");
        assert!(text(check_not_loaded(&module)).contains("built into"));
        fs::write(module.join("initstate"), "live\n").expect("it is written");
        assert!(text(check_not_loaded(&module)).contains("somebody else has already loaded brd"));
    }

    #[test]
    fn errors_of_modprobe_are_explained() {
        for (said, words) in [
            ("FATAL: Module brd not found in /lib\n", "the package"),
            ("ERROR: Operation not permitted\n", "as root"),
            ("ERROR: Key was rejected\n", "Key was rejected"),
            ("", "does not say"),
        ] {
            let text = not_loaded(said).into_text();
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_disk_with_another_identity_is_not_ours() {
        let directory = tempfile::tempdir().expect("a directory");
        let [loaded, block] = ["brd", "ram0"].map(|name| directory.path().join(name));
        let is_left = |noted: &str| is_ours(noted, &loaded, &block).expect("it is known");
        assert!(!is_left("") && !is_left("disk 7 32768"), "there is none");

        fs::create_dir(&loaded).expect("a directory");
        fs::create_dir(&block).expect("a directory");
        let show = |number: &str, size: &str| {
            fs::write(block.join("diskseq"), number).expect("it is written");
            fs::write(block.join("size"), size).expect("it is written");
        };
        show("7\n", "32768\n");
        let noted = disk(&block).expect("it is there");
        assert!(is_left(&noted) && !is_left(""));
        for (number, size) in [("8\n", "32768\n"), ("7\n", "65536\n")] {
            show(number, size);
            assert!(!is_left(&noted), "{number} {size}");
        }
        let unknown = is_ours(LOADING, &loaded, &block).map(drop);
        assert!(text(unknown).contains("modprobe -r brd"));
        fs::remove_dir(&loaded).expect("it is removed");
        assert!(!is_left(LOADING), "it was not loaded");
    }
}
