//! What `squall clones --state` keeps in a file, to notice at its next start that the machine was cloned meanwhile.
//!
//! The file says what the signal showed when programs last ran, and in which boot. No value in it is secret.
//!
//! A clone runs on in the boot in which its snapshot was taken. So values are compared within one boot. After another
//! boot, only the kernel's messages of this boot tell of clones: QEMU and Firecracker may give a machine another vmgenid
//! each time they start it, and a machine that was started again is no clone.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

use rustix::fs::OFlags;
use rustix::io::Errno;
use squall::clones::{Signal, generation, signal};
use tempfile::NamedTempFile;

/// What the signal shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The kernel's identifier of this boot, which clones have in common.
    boot: String,
    /// The signal's name.
    signal: String,
    /// The clone generation; with the kernel's log, whose generation is of a process, the number of the newest message.
    number: u64,
}

impl Mark {
    /// What the signal shows now.
    pub fn now() -> io::Result<Mark> {
        let signal = signal().ok_or(io::ErrorKind::Unsupported)?;
        let number = match signal {
            Signal::KernelLog => newest_message()?,
            _ => generation().map_or(0, u64::from),
        };
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Mark {
            boot: boot.trim().to_owned(),
            signal: signal.to_string(),
            number,
        })
    }

    /// The mark in the file; `None` if there is no file.
    pub fn read(path: &Path) -> io::Result<Option<Mark>> {
        match fs::read_to_string(path) {
            Ok(text) => text.parse().map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the mark in place of the file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = NamedTempFile::new_in(folder)?;
        writeln!(file, "{self}")?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Whether the machine was cloned between this mark and a later one.
    pub fn is_cloned_until(&self, later: &Mark) -> bool {
        self.is_cloned(later, newest_message)
    }

    /// The same, with what says the number of the newest message of the present boot.
    fn is_cloned(&self, later: &Mark, newest_message: impl Fn() -> io::Result<u64>) -> bool {
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

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mark {
            boot,
            signal,
            number,
        } = self;
        write!(f, "{boot} {signal} {number}")
    }
}

impl FromStr for Mark {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Mark> {
        let words: Vec<_> = text.split_whitespace().collect();
        let mark = match words[..] {
            [boot, signal, number] => number.parse().ok().map(|number| Mark {
                boot: boot.to_owned(),
                signal: signal.to_owned(),
                number,
            }),
            _ => None,
        };
        mark.ok_or_else(|| io::Error::other("this is no state of squall clones"))
    }
}

/// The number of the newest message about a clone in the kernel's log; 0 if there is none.
fn newest_message() -> io::Result<u64> {
    let mut log = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open("/dev/kmsg")?;
    newest_message_in(&mut log)
}

/// The same, for a log that gives one record for each read.
fn newest_message_in(log: &mut impl Read) -> io::Result<u64> {
    // The longest record (PRINTK_MESSAGE_MAX in include/linux/printk.h is 2048 bytes) is shorter, but for its escapes.
    let mut record = [0; 8192];
    let mut newest = 0;
    loop {
        match log.read(&mut record) {
            Ok(0) => return Ok(newest),
            Ok(len) => newest = newest.max(number_of_clone_message(&record[..len]).unwrap_or(0)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::AGAIN) => return Ok(newest),
                // Overwritten meanwhile, or too long for the buffer: the next read gives the next record.
                Some(Errno::PIPE | Errno::INVAL | Errno::INTR) => {}
                _ => return Err(error),
            },
        }
    }
}

/// The number of a record if it is the kernel's message about a clone, as 817 in `5,817,8816751,-;random: …`. The first
/// number is below 8 for the kernel's own messages (Documentation/ABI/testing/dev-kmsg).
fn number_of_clone_message(record: &[u8]) -> Option<u64> {
    let record = str::from_utf8(record).ok()?;
    let (head, text) = record.split_once(';')?;
    let mut numbers = head.split(',');
    let is_kernels = numbers.next()?.parse::<u32>().ok()? < 8;
    let number = numbers.next()?.parse().ok()?;
    let is_clone = text.starts_with("random: crng reseeded due to virtual machine fork");
    (is_kernels && is_clone).then_some(number)
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
                assert_eq!(before.is_cloned(&later, no_log), is_cloned, "{later}");
            }
        }
        let before = mark("a", Signal::KernelLog, 7);
        for (number, is_cloned) in [(7, false), (8, true), (0, false)] {
            let later = mark("a", Signal::KernelLog, number);
            assert_eq!(before.is_cloned(&later, no_log), is_cloned, "{later}");
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
        for number in [7, u64::MAX] {
            let mark = mark("a", Signal::VmgenidPage, number);
            mark.write(&path).expect("a file");
            assert_eq!(Mark::read(&path).expect("a file"), Some(mark));
        }
        for text in ["", "a vmclock", "a vmclock x", "a vmclock 1 2", "\0\0"] {
            fs::write(&path, text).expect("a file");
            assert!(Mark::read(&path).is_err(), "{text:?}");
        }
    }

    /// Records and errors, one for each read.
    struct Log(Vec<Result<&'static str, Errno>>);

    impl Read for Log {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let record = self.0.pop().unwrap_or(Err(Errno::AGAIN))?;
            buffer[..record.len()].copy_from_slice(record.as_bytes());
            Ok(record.len())
        }
    }

    #[test]
    fn the_newest_message_is_found() {
        let newest =
            |records: &[_]| newest_message_in(&mut Log(records.iter().rev().copied().collect()));
        let [first, last, program, other] = [
            "5,817,8816751,-;random: crng reseeded due to virtual machine fork\n",
            "5,902,9816751,-,caller=T1;random: crng reseeded due to virtual machine fork\n SUBSYSTEM=x\n",
            "13,950,9916751,-;random: crng reseeded due to virtual machine fork\n",
            "5,999,9926751,-;random: crng init done\n",
        ];
        assert_eq!(newest(&[]).expect("a log"), 0);
        assert_eq!(newest(&[Ok(program), Ok(other), Ok("")]).expect("a log"), 0);
        let records = [
            Err(Errno::PIPE),
            Ok(first),
            Err(Errno::INVAL),
            Ok(last),
            Ok(program),
            Ok(other),
        ];
        assert_eq!(newest(&records).expect("a log"), 902);
        assert!(newest(&[Ok(first), Err(Errno::IO)]).is_err());
    }
}
