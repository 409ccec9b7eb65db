//! What `squall clones --state` keeps in a file, to notice at its next start that the machine was cloned meanwhile.
//!
//! The file says what the signal showed when programs last ran, and in which boot. No value in it is secret.
//!
//! A clone runs on in the boot in which its snapshot was taken. So values are compared within one boot. After another
//! boot, only the kernel's messages of this boot tell of clones: QEMU and Firecracker may give a machine another vmgenid
//! each time they start it, and a machine that was started again is no clone.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use squall::clones::{Signal, generation, signal};
use squall::internal::newest_clone_message;
use tempfile::NamedTempFile;

/// What the signal shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The kernel's identifier of this boot, which clones have in common.
    boot: String,
    /// The signal's name.
    signal: String,
    /// The clone generation; with the kernel's log, whose generation is of a process, the number of the newest message.
    number: u64,
}

impl Mark {
    pub fn now() -> io::Result<Mark> {
        let signal = signal().ok_or(io::ErrorKind::Unsupported)?;
        let number = match signal {
            Signal::KernelLog => newest_clone_message()?,
            _ => generation().map_or(0, u64::from),
        };
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Mark {
            boot: boot.trim().to_owned(),
            signal: signal.to_string(),
            number,
        })
    }

    /// Checks that the file can be read and written, and that nothing else is in it. Changes nothing.
    pub fn check(path: &Path) -> io::Result<()> {
        let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if is_folder || path.exists() && !path.is_file() {
            return Err(io::Error::other("this is no file: name one"));
        }
        Mark::read(path)?;
        beside(path).map(drop)
    }

    /// The mark in the file; `None` if there is no file, or an empty one.
    pub fn read(path: &Path) -> io::Result<Option<Mark>> {
        let text = match fs::read(path) {
            Ok(text) if text.is_empty() => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let no_mark = "this is no state of squall clones: name another file, or remove it";
        let mark = serde_json::from_slice(&text).map_err(|_| io::Error::other(no_mark))?;
        Ok(Some(mark))
    }

    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = beside(path)?;
        serde_json::to_writer(&mut file, self)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Whether the machine was cloned between this mark and a later one. `newest_message` says the number of the newest
    /// message of the present boot.
    pub fn is_cloned(&self, later: &Mark, newest_message: impl Fn() -> io::Result<u64>) -> bool {
        if self.boot != later.boot {
            return newest_message().is_ok_and(|number| number > 0);
        }
        let is_by_log = later.signal == Signal::KernelLog.to_string();
        // Numbers of messages grow. If a smaller one is the newest, the kernel has overwritten that of the mark.
        let is_changed = match is_by_log {
            true => later.number > self.number,
            false => later.number != self.number,
        };
        self.signal == later.signal && is_changed
    }
}

/// A file that can take the place of `path`.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    NamedTempFile::new_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(boot: &str, signal: Signal, number: u64) -> Mark {
        Mark {
            boot: boot.to_owned(),
            signal: signal.to_string(),
            number,
        }
    }

    #[test]
    fn a_clone_shows_within_one_boot() {
        let no_log = || panic!("the log is not read");
        for signal in [Signal::VmClock, Signal::VmgenidPage] {
            let before = mark("a", signal, 7);
            for (number, is_cloned) in [(7, false), (8, true), (6, true)] {
                let later = mark("a", signal, number);
                assert_eq!(before.is_cloned(&later, no_log), is_cloned, "{later:?}");
            }
        }
        let before = mark("a", Signal::KernelLog, 7);
        for (number, is_cloned) in [(7, false), (8, true), (0, false)] {
            let later = mark("a", Signal::KernelLog, number);
            assert_eq!(before.is_cloned(&later, no_log), is_cloned, "{later:?}");
        }
        let other = mark("a", Signal::VmgenidPage, 8);
        assert!(!before.is_cloned(&other, no_log), "numbers of two signals");
    }

    #[test]
    fn after_another_boot_only_a_message_shows_a_clone() {
        for signal in [Signal::VmClock, Signal::VmgenidPage, Signal::KernelLog] {
            let (before, later) = (mark("a", signal, 7), mark("b", signal, 8));
            assert!(!before.is_cloned(&later, || Ok(0)), "{signal}");
            assert!(before.is_cloned(&later, || Ok(3)), "{signal}");
            let unreadable = || Err(io::ErrorKind::PermissionDenied.into());
            assert!(!before.is_cloned(&later, unreadable), "{signal}");
        }
    }

    #[test]
    fn a_file_keeps_a_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        assert_eq!(Mark::read(&path).expect("no file"), None);
        fs::write(&path, "").expect("a file");
        assert_eq!(Mark::read(&path).expect("an empty file"), None);
        for number in [7, u64::MAX] {
            let mark = mark("a", Signal::VmgenidPage, number);
            mark.write(&path).expect("a file");
            assert_eq!(Mark::read(&path).expect("a file"), Some(mark));
        }
        for text in [
            "{}",
            "[1]",
            r#"{"boot":"a","signal":"vmclock","number":-1}"#,
            "\0\0",
        ] {
            fs::write(&path, text).expect("a file");
            assert!(Mark::read(&path).is_err(), "{text:?}");
        }
    }
}
