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
use squall::clones::{Signal, signal};
use squall::internal::{machine_generation, newest_clone_message};
use tempfile::NamedTempFile;

/// The length of the kernel's identifier of a boot, a UUID.
const BOOT_ID_LENGTH: usize = 36;

/// What the signal shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The kernel's identifier of this boot, which clones have in common.
    boot: String,
    /// The signal's name.
    signal: String,
    /// The machine's part of the clone generation; with the kernel's log, whose generation is of a process, the number of
    /// the newest message.
    number: u64,
}

impl Mark {
    pub fn now() -> io::Result<Mark> {
        let signal = signal().ok_or(io::ErrorKind::Unsupported)?;
        let number = match signal {
            Signal::KernelLog => newest_clone_message()?,
            _ => machine_generation().map_or(0, u64::from),
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
        let text = contents(path)?;
        if !is_mark(&text) {
            let message = "this is no state of squall clones: name another file, or remove it";
            return Err(io::Error::other(message));
        }
        beside(path).map(drop)
    }

    /// The mark in the file; `None` if there is no file, or an empty one. Fails if it is damaged.
    pub fn read(path: &Path) -> io::Result<Option<Mark>> {
        let text = contents(path)?;
        if text.is_empty() {
            return Ok(None);
        }
        let damaged =
            "this state cannot be read, and no clone until now is known: it is written anew";
        let mark = serde_json::from_str(&text).map_err(|_| io::Error::other(damaged))?;
        Ok(Some(mark))
    }

    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = beside(path)?;
        serde_json::to_writer(&mut file, self)?;
        // Otherwise a loss of power may leave the new name with nothing in it.
        file.as_file().sync_all()?;
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

/// What the file holds; nothing if there is no file.
fn contents(path: &Path) -> io::Result<String> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map(|text| String::from_utf8_lossy(&text).into_owned()),
    }
}

/// Whether this is a mark, its beginning, as a loss of power may leave it, or one of an earlier build: three words.
fn is_mark(text: &str) -> bool {
    let beginning = r#"{"boot":"#;
    let text = text.trim_end_matches('\0');
    let words: Vec<_> = text.split_whitespace().collect();
    let is_early = matches!(words[..], [boot, _, number]
        if boot.len() == BOOT_ID_LENGTH && number.parse::<u64>().is_ok());
    text.starts_with(beginning) || beginning.starts_with(text) || is_early
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
        for signal in [Signal::KvmClock, Signal::VmClock, Signal::VmgenidPage] {
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
        for (text, is_mark) in [
            ("{}", false),
            ("[1]", false),
            ("{\n\"boot\"", false),
            ("a vmclock 1", false),
            (r#"{"boot":"a","signal":"vmclock","number":-1}"#, true),
            ("{\"bo", true),
            ("{\"boot\":\"a\",\0\0", true),
            ("\0\0", true),
            ("0f9a6c21-33d7-4f84-b1a5-e2c85d704961 vmclock 7\n", true),
        ] {
            fs::write(&path, text).expect("a file");
            assert!(Mark::read(&path).is_err(), "{text:?}");
            assert_eq!(Mark::check(&path).is_ok(), is_mark, "{text:?}");
        }
    }
}
