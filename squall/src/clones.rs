//! Notices clones of this virtual machine and restored copies of this process, by a number to compare on each request and
//! by a [`Watch`] to wait on.
//!
//! squall's own bytes need neither: they differ in each copy. These functions are for everything else that copies must
//! not share: connection identifiers, session keys, cached tokens, leases.
//!
//! ```no_run
//! use squall::clones;
//!
//! // On each request; it takes nanoseconds.
//! let before = clones::generation();
//! // …
//! if clones::generation() != before {
//!     // This may be another copy of the machine, or of the process.
//! }
//!
//! // Or in a thread:
//! let mut watch = clones::Watch::new()?;
//! while watch.wait(None)? {
//!     println!("copied: {:?}", clones::generation());
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Signals
//! [`signal`] says which signal squall uses on this machine. If it is `None`, nothing here distinguishes a restored
//! snapshot from a pause, and [`generation`] is `None` too: that means *unknown*, not *no*.
//!
//! | signal | the generation changes | a [`Watch`] wakes up |
//! | --- | --- | --- |
//! | [`Signal::KvmClock`] | before a CPU of the clone runs, if the monitor restores the clock with its time, as all that we know of do | within 0.1 seconds |
//! | [`Signal::VmClock`] | before the clone runs | with the device's interrupt, within 0.1 seconds at the latest |
//! | [`Signal::VmgenidPage`] | before the clone runs | with vmgenid's interrupt, within 0.1 seconds at the latest |
//! | [`Signal::KernelLog`] | once the kernel has handled vmgenid's interrupt, milliseconds after the clone begins to run | at the same time |
//! | [`Signal::Process`] | before the restored process asks for it | within 0.1 seconds |
//!
//! Whatever the machine's signal is, the generation also changes when this process is restored from a checkpoint (CRIU).
//! [`Signal::Process`] is the signal where nothing else can happen, because the machine is no virtual one. A fork
//! changes nothing; a child by raw clone(2) counts as a copy.
//!
//! In emulated machines the kernel took a tenth of a second in the median to handle the interrupt
//! (docs/records/reset.md).
//!
//! A live migration changes none of these signals, except that some hypervisors give a moved VM a new vmgenid. gVisor shows
//! no process that it was restored. docs/guides/clones.md says what programs, machines and platforms can do about copies.

mod kernel_log;

use core::ffi::c_int;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Instant;

use crate::file::File;
use crate::guard::policy::{self, Policy};
use crate::guard::{fork, kvm_clock, process_start};
pub use crate::signal::Signal;
use crate::thread_generator;
use kernel_log::KernelLog;
#[doc(hidden)]
pub use kernel_log::newest_message;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub use kernel_log::replace_path as replace_kernel_log_for_testing;

/// What [`signal`] has found: nothing yet, nothing, or a signal's number.
static FOUND_SIGNAL: AtomicU8 = AtomicU8::new(NOT_SEARCHED);

const NOT_SEARCHED: u8 = 0;
const NO_SIGNAL: u8 = u8::MAX;

/// The signal that [`generation`] follows; `None` if nothing on this machine shows clones, or nothing that this process
/// may read. [`Signal::Process`] if the machine is no virtual one.
///
/// The first call searches for the signal, which takes some ten microseconds, on guests of KVM ten milliseconds after the
/// process's first draw, and opens /dev/kmsg if no page shows clones. It allocates nothing and takes no lock.
#[inline]
pub fn signal() -> Option<Signal> {
    match FOUND_SIGNAL.load(Ordering::Acquire) {
        NOT_SEARCHED => find_signal(),
        found => Signal::ALL.get(usize::from(found) - 1).copied(),
    }
}

#[cold]
fn find_signal() -> Option<Signal> {
    // The second draw looks for the machine's signals. Without a source of randomness nothing looks for them.
    for _ in 0..2 {
        thread_generator::try_fill(&mut [0]).ok()?;
    }
    let policy = Policy::get_settled();
    let signal = match policy.signal().and_then(|found| found.signal) {
        Some(signal) => Some(signal),
        None if !policy.is_vm && process_start::is_known() => Some(Signal::Process),
        None if !policy::has_vmgenid() => None,
        None => match kernel_log::open() {
            Ok(()) => Some(Signal::KernelLog),
            // The next call tries again.
            Err(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => return None,
            Err(_) => None,
        },
    };
    let found = signal.map_or(NO_SIGNAL, |signal| signal as u8);
    FOUND_SIGNAL.store(found, Ordering::Release);
    signal
}

/// A number that changes when this process may be running in a clone of its machine, or may itself have been restored;
/// `None` if nothing shows clones of the machine.
///
/// Compare it with earlier numbers of the same process only. Two copies may have the same number: it says that the
/// machine or the process was copied, not which copy this is.
///
/// A call takes some nanoseconds, with [`Signal::KvmClock`] about a hundred; the first in each tick of the kernel, which are
/// 1 to 10 milliseconds apart, reads two files in /proc, which takes some microseconds. With [`Signal::KernelLog`], it makes
/// a system call during the second after each reseed of the kernel's RNG, which comes once a minute. Linux before 6.11 does
/// not show its reseeds, so there each call makes one. With this signal the number also changes if the kernel has overwritten
/// messages that squall has not read.
///
/// # Forks
/// A forked child begins with its parent's number. With [`Signal::KernelLog`], the child's number changes once more at
/// the kernel's next reseed, because the parent may have read a message that the child has not. As long as the child cannot
/// open the log, its number is `None`.
///
/// Safe in signal handlers.
#[inline]
pub fn generation() -> Option<NonZeroU64> {
    let machine = machine_generation()?;
    NonZeroU64::new(machine.get().wrapping_add(process_start::number()))
}

/// The machine's part of the generation, which a restored process has in common with others. It is `None` for one value of
/// a signal in 2^64.
#[doc(hidden)]
#[inline]
pub fn machine_generation() -> Option<NonZeroU64> {
    match signal()? {
        Signal::KernelLog => NonZeroU64::new(kernel_log::generation()),
        Signal::Process => Some(NonZeroU64::MIN),
        _ => generation_in_memory(),
    }
}

fn generation_in_memory() -> Option<NonZeroU64> {
    let found = Policy::get().signal()?;
    let value = match found.signal {
        Some(Signal::KvmClock) => kvm_clock::newest_time()?.wrapping_add(1),
        _ => found.value(),
    };
    NonZeroU64::new(value)
}

/// How often a watch looks by itself: nothing reports that the process was restored, or that kvm-clock changed.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits for clones of this machine, and for restores of this process.
///
/// Its descriptor ([`AsFd`]) works with poll, epoll and tokio's `AsyncFd`. The descriptor becomes readable when the
/// machine may have been cloned or the process restored, and every 0.1 seconds. [`Watch::take_change`] says which, and resets it.
///
/// A watch is of no use in a forked child, which would take its parent's messages: make another one there.
#[derive(Debug)]
pub struct Watch {
    /// The machine's signal.
    signal: Signal,
    /// What showed the last change.
    changed_by: Signal,
    /// The process that made this watch.
    process: u64,
    /// An epoll instance that has the descriptors of the next three fields.
    epoll: OwnedFd,
    /// The device with the signal, if its driver reports changes.
    device: Option<File>,
    log: Option<KernelLog>,
    /// Expires every [`POLL_INTERVAL`].
    timer: OwnedFd,
    /// [`Watch::numbers`] at the last call of [`Watch::take_change`].
    last: [u64; 2],
    is_certain: bool,
}

impl Watch {
    /// Begins to watch, and reports clones from now on.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if nothing on this machine shows clones ([`signal`] is `None`); errors of system
    /// calls.
    pub fn new() -> io::Result<Watch> {
        let signal = signal().ok_or_else(no_signal_error)?;
        let policy = Policy::get();
        let device = match policy.signal() {
            Some(device) if signal != Signal::KernelLog => device.open_to_poll(),
            _ => None,
        };
        let log = if signal == Signal::KernelLog {
            // A child's requests need a log of its own too: opened at the next reseed, it would change the number then.
            let opened = KernelLog::open().and_then(|log| kernel_log::open().map(|()| log));
            Some(opened.map_err(io::Error::from_raw_os_error)?)
        } else if device.is_none() && policy::has_vmgenid() {
            KernelLog::open().ok()
        } else {
            None
        };
        let mut watch = Watch {
            signal,
            changed_by: signal,
            process: fork::process(),
            // SAFETY: the call takes a number.
            epoll: new_descriptor(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?,
            device,
            log,
            timer: periodic_timer(POLL_INTERVAL)?,
            last: [0; 2],
            is_certain: true,
        };
        watch.last = watch.numbers();
        let descriptors = [
            watch.device.as_ref().map(File::descriptor),
            watch.log.as_ref().map(KernelLog::descriptor),
            Some(watch.timer.as_raw_fd()),
        ];
        for descriptor in descriptors.into_iter().flatten() {
            watch.wake_on(descriptor)?;
        }
        Ok(watch)
    }

    /// Makes this watch wake up when the descriptor becomes readable.
    fn wake_on(&self, descriptor: RawFd) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        let (this, add) = (self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: the event is readable.
        result(unsafe { libc::epoll_ctl(this, add, descriptor, &mut event) }).map(drop)
    }

    /// Two numbers: one that changes with each clone, and when one may have been missed, and the process's. This watch has
    /// its own descriptor of the kernel's log, so it knows of clones even if [`generation`] can no longer be told.
    fn numbers(&self) -> [u64; 2] {
        let of_machine = match self.signal {
            Signal::KernelLog => kernel_log::number(),
            _ => machine_generation().map_or(0, u64::from),
        };
        [of_machine, process_start::number()]
    }

    /// What showed the last change that was reported: the machine's signal, or [`Signal::Process`]. Before the first change it
    /// is [`signal`].
    pub fn changed_by(&self) -> Signal {
        self.changed_by
    }

    /// Whether the last change that was reported was a copy for certain. It was not if the kernel had overwritten
    /// messages of its log before they were read, because one of those may have been about a clone.
    pub fn is_certain(&self) -> bool {
        self.is_certain
    }

    /// Whether the machine may have been cloned, or the process was restored, since the last call, or since this watch began.
    /// Never waits.
    ///
    /// # Errors
    /// Errors of reading the kernel's log; an error in a forked child.
    pub fn take_change(&mut self) -> io::Result<bool> {
        if self.process != fork::process() {
            return Err(io::Error::other(
                "a watch belongs to the process that made it: make another one in a forked child",
            ));
        }
        let mut expirations = [0u8; 8];
        // SAFETY: the buffer is writable for its length. If nothing has expired, nothing is read.
        unsafe { libc::read(self.timer.as_raw_fd(), expirations.as_mut_ptr().cast(), 8) };
        // After a read, the device is readable again only after the next change.
        if let Some(device) = &self.device
            && device.read(&mut [0; 8]).is_none()
        {
            // The device was removed. Its page stays mapped, but no longer changes.
            self.device = None;
        }
        if let Some(log) = &self.log {
            log.read()?;
            // What all requests read is read too, or it would be overwritten until the next reseed.
            kernel_log::catch_up();
        }
        let now = self.numbers();
        let last = std::mem::replace(&mut self.last, now);
        let [is_cloned, is_restored] = [0, 1].map(|part| now[part] != last[part]);
        if is_cloned || is_restored {
            self.changed_by = if is_cloned {
                self.signal
            } else {
                Signal::Process
            };
            self.is_certain = is_restored
                || self.signal != Signal::KernelLog
                || kernel_log::has_message_between(last[0], now[0]);
        }
        Ok(is_cloned || is_restored)
    }

    /// Waits until the machine may have been cloned or the process was restored. Returns false if neither came before
    /// `timeout` passed; without a timeout, waits forever.
    ///
    /// # Errors
    /// Errors of poll(2) and of reading the kernel's log. An interruption by a signal handler is none.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let began = Instant::now();
        loop {
            if self.take_change()? {
                return Ok(true);
            }
            let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(false);
            }
            // Rounded up, so that the loop does not spin during the last millisecond.
            let milliseconds = left.map_or(-1, |left| {
                c_int::try_from(left.as_millis() + 1).unwrap_or(c_int::MAX)
            });
            let mut poll = libc::pollfd {
                fd: self.epoll.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one structure, writable.
            match result(unsafe { libc::poll(&mut poll, 1, milliseconds) }) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

fn no_signal_error() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this process cannot notice clones of its machine: give the virtual machine a vmgenid or a vmclock, and install \
         squall's kernel module (squall-vmgenid-dkms) or let the process read /dev/kmsg (CAP_SYSLOG)",
    )
}

fn periodic_timer(period: Duration) -> io::Result<OwnedFd> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: the call takes numbers.
    let timer = new_descriptor(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
    let period = libc::timespec {
        tv_sec: period.as_secs() as libc::time_t,
        tv_nsec: period.subsec_nanos().into(),
    };
    let setting = libc::itimerspec {
        it_interval: period,
        it_value: period,
    };
    let (descriptor, nowhere) = (timer.as_raw_fd(), core::ptr::null_mut());
    // SAFETY: the setting is readable.
    result(unsafe { libc::timerfd_settime(descriptor, 0, &setting, nowhere) })?;
    Ok(timer)
}

/// The result of a system call, or the error of which a negative one tells.
fn result(result: c_int) -> io::Result<c_int> {
    match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The new descriptor that a system call has returned.
fn new_descriptor(descriptor: c_int) -> io::Result<OwnedFd> {
    // SAFETY: it is new, so nobody else owns it.
    result(descriptor).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}
