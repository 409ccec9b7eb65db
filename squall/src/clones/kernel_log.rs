//! The clone generation by the kernel's log, where the kernel reports that this VM was cloned.
//!
//! After vmgenid's interrupt, Linux reseeds its RNG and then writes "crng reseeded due to virtual machine fork" to its
//! log (`add_vmfork_randomness` in drivers/char/random.c; 5.18). So a request only compares the kernel's generation,
//! and reads the log if that has changed. The vmgenid driver sends no uevent: the commit that added one was reverted in
//! Linux 6.9.
//!
//! /dev/kmsg returns one record for each read, with a sequence number. That of the newest message about a clone is the
//! clone generation. Programs cannot write records in the kernel's name (Documentation/ABI/testing/dev-kmsg), but some of
//! the kernel's records begin with their words: netfilter's with a rule's prefix. So the whole text is compared.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::io;

use crate::error::errno;
use crate::failpoint::{self, Failpoint};
use crate::file::{self, File};
use crate::guard::clock;
use crate::guard::{fork, freshness};

/// The text of the message.
const MESSAGE: &str = "random: crng reseeded due to virtual machine fork";

/// The sequence number, plus two, of the newest message about a clone that this process has read; 1 if none.
static NEWEST_MESSAGE: AtomicU64 = AtomicU64::new(1);

/// How often this process may have missed a message.
static POSSIBLE_MISSES: AtomicU64 = AtomicU64::new(0);

/// Whether this process could not open the log when it last tried.
static IS_UNREADABLE: AtomicBool = AtomicBool::new(false);

/// The generation of the kernel's RNG for which no more messages can come.
static SETTLED_GENERATION: AtomicU64 = AtomicU64::new(0);

/// The generation of the kernel's RNG for which a message may still come, and the second in which it was first seen.
static AWAITED_GENERATION: AtomicU64 = AtomicU64::new(0);
static AWAITED_SINCE: AtomicU64 = AtomicU64::new(0);

/// How many seconds after a reseed its message may come. The kernel writes it right after the reseed.
const MESSAGE_DELAY: u64 = 1;

/// The log's descriptor, and the process that opened it. A forked child shares its parent's position in the log.
static LOG: AtomicI32 = AtomicI32::new(-1);
static OPENED_BY_PROCESS: AtomicU64 = AtomicU64::new(NOBODY);
const NOBODY: u64 = u64::MAX;

/// The process of which a thread is opening the log, plus one; 0 if none is. Other threads of that process do not wait
/// for it. A child that was forked meanwhile does not have that thread, and opens the log itself.
static OPENING_PROCESS: AtomicU64 = AtomicU64::new(0);

/// Opens the log, unless this process has it already. The error is that of open(2), or ENODEV.
pub fn open() -> Result<(), i32> {
    match open_for_this_process(freshness::mapped_generation()) {
        Opened::Failed(error) => Err(error),
        Opened::Now | Opened::Before | Opened::AtTheSameTime => Ok(()),
    }
}

/// A number that changes with each message about a clone, and when one may have been missed; 0 as long as this process
/// cannot read the log.
#[inline]
pub fn generation() -> u64 {
    let generation = freshness::mapped_generation();
    let is_settled = generation != 0 && generation == SETTLED_GENERATION.load(Ordering::Acquire);
    match (is_settled || read_pending(generation)) && !IS_UNREADABLE.load(Ordering::Acquire) {
        true => number(),
        false => 0,
    }
}

/// The same by what was read until now.
pub fn number() -> u64 {
    // No log has 2^40 records.
    NEWEST_MESSAGE.load(Ordering::Acquire) + (POSSIBLE_MISSES.load(Ordering::Acquire) << 40)
}

/// Whether a message has come between two of these numbers.
pub fn has_message_between(earlier: u64, later: u64) -> bool {
    (earlier ^ later) << 24 != 0
}

/// Reads the messages that have come; false if there is no log to read. A process that cannot open the log tries again
/// when the kernel's generation has changed.
#[cold]
#[inline(never)]
fn read_pending(generation: u64) -> bool {
    let before = NEWEST_MESSAGE.load(Ordering::Acquire);
    if !catch_up() {
        let opened = open_for_this_process(generation);
        return matches!(opened, Opened::Now | Opened::Before);
    }
    let now = clock::seconds();
    if AWAITED_GENERATION.load(Ordering::Acquire) != generation {
        // The time is stored first: a thread that reads the generation then reads its time, or a later one.
        AWAITED_SINCE.store(now, Ordering::Relaxed);
        AWAITED_GENERATION.store(generation, Ordering::Release);
    }
    let is_too_late = now.saturating_sub(AWAITED_SINCE.load(Ordering::Relaxed)) > MESSAGE_DELAY;
    if is_too_late || NEWEST_MESSAGE.load(Ordering::Acquire) != before {
        SETTLED_GENERATION.store(generation, Ordering::Release);
    }
    true
}

/// Reads the messages that have come; false if this process has to open the log first.
pub fn catch_up() -> bool {
    let log = LOG.load(Ordering::Acquire);
    is_log_of_this_process(log) && read(log).is_ok()
}

/// Whether the descriptor is the log, opened by this process. A program may have closed it, and opened something else.
fn is_log_of_this_process(log: c_int) -> bool {
    OPENED_BY_PROCESS.load(Ordering::Acquire) == fork::process() && is_log(log)
}

/// What came of opening the log.
enum Opened {
    Now,
    Before,
    /// Another thread is opening it, or did until it was interrupted for good.
    AtTheSameTime,
    Failed(i32),
}

/// Opens the log, unless this process has it already or another thread is opening it. Messages of reseeds after the
/// kernel's `generation` will be read from it.
fn open_for_this_process(generation: u64) -> Opened {
    let this = fork::process() + 1;
    let other = OPENING_PROCESS.load(Ordering::Acquire);
    let claim =
        || OPENING_PROCESS.compare_exchange(other, this, Ordering::AcqRel, Ordering::Relaxed);
    if other == this || claim().is_err() {
        return Opened::AtTheSameTime;
    }
    let old = LOG.load(Ordering::Acquire);
    let opened = if is_log_of_this_process(old) {
        Opened::Before
    } else {
        match KernelLog::open() {
            Ok(log) => {
                if old >= 0 {
                    // The parent, or the earlier descriptor, may have had messages that this process has not read.
                    POSSIBLE_MISSES.fetch_add(1, Ordering::AcqRel);
                }
                // The old descriptor stays open: its number may be somebody else's by now.
                LOG.store(log.0.into_descriptor(), Ordering::Release);
                OPENED_BY_PROCESS.store(this - 1, Ordering::Release);
                Opened::Now
            }
            Err(error) => Opened::Failed(error),
        }
    };
    if !matches!(opened, Opened::Before) {
        IS_UNREADABLE.store(matches!(opened, Opened::Failed(_)), Ordering::Release);
        SETTLED_GENERATION.store(generation, Ordering::Release);
    }
    OPENING_PROCESS.store(0, Ordering::Release);
    opened
}

/// Whether the descriptor is the kernel's log. In containers, /dev/kmsg can be another device.
fn is_log(descriptor: c_int) -> bool {
    let is_expected = |stat: libc::stat| {
        stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == libc::makedev(1, 11)
    };
    file::stat(descriptor).is_some_and(|stat| {
        is_expected(stat) || failpoint::is_active(Failpoint::SkipCloneDeviceCheck)
    })
}

/// The kernel's log, open at its end.
#[derive(Debug)]
pub struct KernelLog(File);

impl KernelLog {
    /// Opens the log. The error is that of open(2), EPERM if this process may not read it (`dmesg_restrict` in
    /// Documentation/admin-guide/sysctl/kernel.rst); or ENODEV, if /dev/kmsg is another device.
    pub fn open() -> Result<KernelLog, i32> {
        let log = open_file()?;
        // SAFETY: the call takes numbers. It fails for the FIFO of a test, which is empty.
        unsafe { libc::lseek(log.descriptor(), 0, libc::SEEK_END) };
        // A program has closed the other descriptor: this one, of the same number, is not for everybody.
        if LOG.load(Ordering::Acquire) == log.descriptor() {
            OPENED_BY_PROCESS.store(NOBODY, Ordering::Release);
        }
        Ok(KernelLog(log))
    }

    pub fn descriptor(&self) -> c_int {
        self.0.descriptor()
    }

    /// Reads all messages that have come, without waiting.
    pub fn read(&self) -> io::Result<()> {
        read(self.descriptor())
    }
}

/// Opens the log at its beginning.
fn open_file() -> Result<File, c_int> {
    let path = c"/dev/kmsg";
    #[cfg(feature = "testing")]
    let path = *REPLACEMENT.get().unwrap_or(&path);
    let log = File::open(path, libc::O_NONBLOCK)?;
    match is_log(log.descriptor()) {
        true => Ok(log),
        false => Err(libc::ENODEV),
    }
}

#[cfg(feature = "testing")]
static REPLACEMENT: std::sync::OnceLock<&'static core::ffi::CStr> = std::sync::OnceLock::new();

/// Makes `path` stand for /dev/kmsg: a FIFO whose packets are records.
#[cfg(feature = "testing")]
pub fn replace_path(path: &'static core::ffi::CStr) {
    REPLACEMENT.set(path).expect("the path is replaced once");
}

/// The sequence number of the newest message about a clone that the log still has; 0 if there is none.
pub fn newest_message() -> io::Result<u64> {
    let log = open_file().map_err(io::Error::from_raw_os_error)?;
    newest_of(|record| read_one(log.descriptor(), record))
}

fn newest_of(read: impl FnMut(&mut [u8]) -> Result<usize, c_int>) -> io::Result<u64> {
    let mut newest = 0;
    read_all(read, |found| {
        if let Found::Message(number) = found {
            newest = newest.max(number);
        }
    })?;
    Ok(newest)
}

/// Reads all records that have come.
fn read(log: c_int) -> io::Result<()> {
    read_all(
        |record| read_one(log, record),
        |found| {
            match found {
                Found::Message(number) => {
                    NEWEST_MESSAGE.fetch_max(number.saturating_add(2), Ordering::AcqRel)
                }
                Found::Gap => POSSIBLE_MISSES.fetch_add(1, Ordering::Relaxed),
            };
        },
    )
}

/// What records show.
enum Found {
    /// The sequence number of a message about a clone.
    Message(u64),
    /// The kernel has overwritten records, of which one may have been about a clone.
    Gap,
}

/// Reads records until there are no more. `read` reads one, or fails with an error of read(2).
fn read_all(
    mut read: impl FnMut(&mut [u8]) -> Result<usize, c_int>,
    mut take: impl FnMut(Found),
) -> io::Result<()> {
    // Messages about clones are shorter; the kernel skips a record that does not fit (EINVAL).
    let mut record = [0u8; 1024];
    loop {
        match read(&mut record) {
            // The end of a test's FIFO.
            Ok(0) | Err(libc::EAGAIN) => return Ok(()),
            Ok(len) => {
                if let Some(number) = number_of_clone_message(&record[..len]) {
                    take(Found::Message(number));
                }
            }
            Err(libc::EINTR | libc::EINVAL) => {}
            Err(libc::EPIPE) => take(Found::Gap),
            Err(error) => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Reads one record.
fn read_one(log: c_int, record: &mut [u8]) -> Result<usize, c_int> {
    // SAFETY: the record is writable for its length. A raw call, because a preloaded library may replace `read`.
    let len = unsafe { libc::syscall(libc::SYS_read, log, record.as_mut_ptr(), record.len()) };
    usize::try_from(len).map_err(|_| errno())
}

/// The sequence number of a record, if it is the kernel's message about a clone, as 817 in `5,817,8816751,-;random: …`.
/// The first number is the priority, plus eight times the facility, which is 0 for the kernel alone.
fn number_of_clone_message(record: &[u8]) -> Option<u64> {
    let record = core::str::from_utf8(record).ok()?;
    let (head, text) = record.split_once(';')?;
    let mut numbers = head.split(',');
    let priority: u32 = numbers.next()?.parse().ok()?;
    let number = numbers.next()?.parse().ok()?;
    let is_kernels = priority < 8;
    // Properties may follow. A newline within the text arrives as `\x0a`.
    let (text, _) = text.split_once('\n')?;
    (is_kernels && text == MESSAGE).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_a_thread_is_opening_is_not_opened_again() {
        OPENING_PROCESS.store(fork::process() + 1, Ordering::Release);
        let opened = open_for_this_process(0);
        OPENING_PROCESS.store(0, Ordering::Release);
        assert!(matches!(opened, Opened::AtTheSameTime));
    }

    #[test]
    fn only_the_kernels_message_counts() {
        let text = "random: crng reseeded due to virtual machine fork\n";
        assert_eq!(
            number_of_clone_message(format!("5,817,8816751,-;{text}").as_bytes()),
            Some(817)
        );
        let caller = format!("5,817,8816751,-,caller=T1;{text} SUBSYSTEM=x\n");
        assert_eq!(number_of_clone_message(caller.as_bytes()), Some(817));
        let of_others = [
            "13,817,8816751,-;",
            "5,817,8816751,-;audit: ",
            "",
            "5;",
            "x,817,1,-;",
            "5,x,1,-;",
        ]
        .map(|head| format!("{head}{text}"));
        let other_texts = [
            "random: crng init done\n",
            "random: crng reseeded due to virtual machine fork",
            "random: crng reseeded due to virtual machine forkIN= OUT=lo\n",
            "random: crng reseeded due to virtual machine fork IN= OUT=lo\n",
            "random: crng reseeded due to virtual machine fork\\x0aIN= OUT=lo\n",
        ]
        .map(|text| format!("5,817,8816751,-;{text}"));
        for record in of_others.iter().chain(&other_texts) {
            assert_eq!(number_of_clone_message(record.as_bytes()), None, "{record}");
        }
        assert_eq!(number_of_clone_message(b"5,817,1,-;\xff\n"), None);
    }

    #[test]
    fn the_newest_message_is_found() {
        let newest = |records: &[Result<&str, libc::c_int>]| {
            let mut records = records.iter();
            newest_of(|buffer| {
                let record = records.next().copied().unwrap_or(Err(libc::EAGAIN))?;
                buffer[..record.len()].copy_from_slice(record.as_bytes());
                Ok(record.len())
            })
        };
        let [first, last, program, netfilter, other] = [
            "5,817,8816751,-;random: crng reseeded due to virtual machine fork\n",
            "5,902,9816751,-,caller=T1;random: crng reseeded due to virtual machine fork\n SUBSYSTEM=x\n",
            "13,950,9916751,-;random: crng reseeded due to virtual machine fork\n",
            "4,960,9920751,-;random: crng reseeded due to virtual machine forkIN= OUT=lo\n",
            "5,999,9926751,-;random: crng init done\n",
        ];
        assert_eq!(newest(&[]).expect("a log"), 0);
        let others = [Ok(program), Ok(netfilter), Ok(other), Ok("")];
        assert_eq!(newest(&others).expect("a log"), 0);
        let records = [
            Err(libc::EPIPE),
            Ok(first),
            Err(libc::EINVAL),
            Ok(last),
            Ok(program),
            Ok(netfilter),
            Ok(other),
        ];
        assert_eq!(newest(&records).expect("a log"), 902);
        assert!(newest(&[Ok(first), Err(libc::EIO)]).is_err());
    }
}
