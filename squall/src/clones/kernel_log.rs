//! The kernel's own message that this VM was cloned, and the number of the newest.
//!
//! Linux writes "crng reseeded due to virtual machine fork" to its log after vmgenid's interrupt, when it has reseeded its
//! RNG (`add_vmfork_randomness` in drivers/char/random.c; 5.18). So as long as the kernel's generation does not change,
//! there is nothing to read: comparing it is all that a request does. The driver sends no uevent: the commit that added
//! one was reverted in Linux 6.9.
//!
//! /dev/kmsg returns one record for each read, with a sequence number: that of the newest clone's message stands for the
//! generation. A program's records cannot pass for the kernel's (Documentation/ABI/testing/dev-kmsg).

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::io;

use crate::error::errno;
use crate::failpoint::{self, Failpoint};
use crate::file::{self, File};
use crate::guard::clock;
use crate::guard::{fork, freshness};

/// The number of the newest clone's message that this process has seen, plus two; 1 if none.
static NEWEST: AtomicU64 = AtomicU64::new(1);

/// How often a message may have been missed.
static DOUBTS: AtomicU64 = AtomicU64::new(0);

/// Whether this process may not read the log any more.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// The generation of the kernel's RNG under which no message is awaited any more.
static SETTLED: AtomicU64 = AtomicU64::new(0);

/// The generation that a message may belong to, and the second in which it was first seen.
static UNSETTLED: AtomicU64 = AtomicU64::new(0);
static UNSETTLED_SINCE: AtomicU64 = AtomicU64::new(0);

/// How many seconds a message may come after the reseed: the kernel writes it right after.
const GRACE: u64 = 1;

/// The log that is read, and the process that opened it: a forked child shares its parent's position in the log.
static LOG: AtomicI32 = AtomicI32::new(-1);
static OPENED_BY: AtomicU64 = AtomicU64::new(0);

/// The process in which a thread opens the log, plus one; 0 if none does. Other threads of it go on without; a child
/// that was forked meanwhile does not have that thread.
static OPENING: AtomicU64 = AtomicU64::new(0);

/// Opens the log; false if this process may not read it.
pub fn begin() -> bool {
    open_for_this_process(freshness::mapped_generation()) != Opened::Refused
}

/// A number that changes with each clone's message, and with each doubt; 0 if this process may not read the log any more.
#[inline]
pub fn generation() -> u64 {
    let generation = freshness::mapped_generation();
    if generation == 0 || generation != SETTLED.load(Ordering::Acquire) {
        read_pending(generation);
    }
    match IS_LOST.load(Ordering::Relaxed) {
        true => 0,
        // No log has 2^40 records.
        false => NEWEST.load(Ordering::Acquire) + (DOUBTS.load(Ordering::Relaxed) << 40),
    }
}

/// Reads what the log has got under the kernel's `generation`, or under any, if it cannot be seen.
#[cold]
#[inline(never)]
fn read_pending(generation: u64) {
    let before = NEWEST.load(Ordering::Acquire);
    let log = LOG.load(Ordering::Acquire);
    let is_read = is_own(log) && read(log).is_ok();
    if !is_read {
        match open_for_this_process(generation) {
            // Messages may have been missed.
            Opened::Now => _ = DOUBTS.fetch_add(1, Ordering::Relaxed),
            Opened::Refused => IS_LOST.store(true, Ordering::Relaxed),
            Opened::ByAnotherThread => {}
        }
        return;
    }
    if generation == 0 {
        return;
    }
    let now = clock::seconds();
    if UNSETTLED.load(Ordering::Acquire) != generation {
        // Whoever sees the generation sees its time, or a later one.
        UNSETTLED_SINCE.store(now, Ordering::Relaxed);
        UNSETTLED.store(generation, Ordering::Release);
    }
    let is_over = now.saturating_sub(UNSETTLED_SINCE.load(Ordering::Relaxed)) > GRACE;
    if is_over || NEWEST.load(Ordering::Acquire) != before {
        SETTLED.store(generation, Ordering::Release);
    }
}

/// Whether this is the log, and this process has opened it: a forked child shares its parent's position in it, and a
/// program may close all descriptors.
fn is_own(log: c_int) -> bool {
    OPENED_BY.load(Ordering::Acquire) == fork::process() && is_log(log)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    Now,
    ByAnotherThread,
    Refused,
}

/// Opens the log for this process: it gets the messages of reseeds after the kernel's `generation`.
fn open_for_this_process(generation: u64) -> Opened {
    let this = fork::process() + 1;
    let other = OPENING.load(Ordering::Acquire);
    let take = || OPENING.compare_exchange(other, this, Ordering::AcqRel, Ordering::Relaxed);
    if other == this || take().is_err() {
        return Opened::ByAnotherThread;
    }
    let old = LOG.load(Ordering::Acquire);
    let opened = if is_own(old) {
        Opened::ByAnotherThread
    } else if let Some(log) = KernelLog::open() {
        if is_log(old) {
            // SAFETY: it is this process's copy of its parent's, which nobody else closes.
            unsafe { libc::syscall(libc::SYS_close, old) };
        }
        LOG.store(log.0.into_descriptor(), Ordering::Release);
        OPENED_BY.store(this - 1, Ordering::Release);
        SETTLED.store(generation, Ordering::Release);
        Opened::Now
    } else {
        Opened::Refused
    };
    OPENING.store(0, Ordering::Release);
    opened
}

/// Whether the descriptor is the kernel's log: in containers /dev/kmsg can be another device.
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
    /// Opens it; `None` if this process may not read it (`dmesg_restrict` of Documentation/admin-guide/sysctl/kernel.rst).
    pub fn open() -> Option<KernelLog> {
        let path = c"/dev/kmsg";
        #[cfg(feature = "testing")]
        let path = *REPLACEMENT.get().unwrap_or(&path);
        let log = File::open(path, libc::O_NONBLOCK).ok()?;
        if !is_log(log.descriptor()) {
            return None;
        }
        // SAFETY: the call takes numbers. It fails for a test's pipe, which is empty.
        unsafe { libc::lseek(log.descriptor(), 0, libc::SEEK_END) };
        Some(KernelLog(log))
    }

    pub fn descriptor(&self) -> c_int {
        self.0.descriptor()
    }

    /// Reads all messages that have come, without waiting.
    pub fn read(&self) -> io::Result<()> {
        read(self.descriptor())
    }
}

#[cfg(feature = "testing")]
static REPLACEMENT: std::sync::OnceLock<&'static core::ffi::CStr> = std::sync::OnceLock::new();

/// Looks for the kernel's log at `path` instead: a FIFO whose packets are records.
#[cfg(feature = "testing")]
pub fn replace(path: &'static core::ffi::CStr) {
    REPLACEMENT.set(path).expect("it is replaced once");
}

/// Reads all records that have come.
fn read(log: c_int) -> io::Result<()> {
    // Longer than any record that matters; longer ones are left out (EINVAL).
    let mut record = [0u8; 1024];
    loop {
        // SAFETY: the record is writable for its length. A raw call, because a preloaded library may replace `read`.
        let len = unsafe { libc::syscall(libc::SYS_read, log, record.as_mut_ptr(), record.len()) };
        if let Some(record) = usize::try_from(len).ok().and_then(|len| record.get(..len)) {
            match record {
                // The end of a test's pipe.
                [] => return Ok(()),
                _ => {
                    let number = clone_number(record).map_or(0, |number| number.saturating_add(2));
                    NEWEST.fetch_max(number, Ordering::AcqRel);
                }
            }
            continue;
        }
        match errno() {
            libc::EAGAIN => return Ok(()),
            libc::EINTR | libc::EINVAL => {}
            // Records were overwritten; one may have been about a clone.
            libc::EPIPE => {
                DOUBTS.fetch_add(1, Ordering::Relaxed);
            }
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// The sequence number of a record, if it is the kernel's message about a clone: `5,817,8816751,-;random: …`. The first
/// number is the priority, plus eight times the facility, which is 0 for the kernel alone.
fn clone_number(record: &[u8]) -> Option<u64> {
    let record = core::str::from_utf8(record).ok()?;
    let (head, text) = record.split_once(';')?;
    let mut numbers = head.split(',');
    let priority: u32 = numbers.next()?.parse().ok()?;
    let number = numbers.next()?.parse().ok()?;
    let is_kernels = priority < 8;
    let is_clone = text.starts_with("random: crng reseeded due to virtual machine fork");
    (is_kernels && is_clone).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::clone_number;

    #[test]
    fn only_the_kernels_message_is_a_clone() {
        let text = "random: crng reseeded due to virtual machine fork\n";
        assert_eq!(
            clone_number(format!("5,817,8816751,-;{text}").as_bytes()),
            Some(817)
        );
        let caller = format!("5,817,8816751,-,caller=T1;{text} SUBSYSTEM=x\n");
        assert_eq!(clone_number(caller.as_bytes()), Some(817));
        for head in [
            "13,817,8816751,-;",
            "5,817,8816751,-;audit: ",
            "",
            "5;",
            "x,817,1,-;",
            "5,x,1,-;",
        ] {
            let record = format!("{head}{text}");
            assert_eq!(clone_number(record.as_bytes()), None, "{record}");
        }
        assert_eq!(
            clone_number(b"5,817,8816751,-;random: crng init done\n"),
            None
        );
        assert_eq!(clone_number(b"5,817,1,-;\xff"), None);
    }
}
