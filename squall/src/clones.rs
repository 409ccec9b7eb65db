//! Was this machine cloned? A number for each request, and a notification.
//!
//! squall's own bytes need neither: they differ in each clone. This is for what else a program must not share with its
//! clones: identifiers of connections, session keys, cached tokens, leases.
//!
//! ```no_run
//! use squall::clones;
//!
//! // On each request: nanoseconds.
//! let before = clones::generation();
//! // …
//! if clones::generation() != before {
//!     // This may be another copy of the machine.
//! }
//!
//! // Or in a thread:
//! let mut watch = clones::Watch::new()?;
//! while watch.wait(None)? {
//!     println!("cloned: {:?}", clones::generation());
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What is known, and how late
//! [`signal`] says which of the machine's signals is used. Where it is `None`, nothing on this machine tells a restored
//! snapshot from a pause, and [`generation`] is `None` too: that means *unknown*, not *no*.
//!
//! | signal | the generation changes | a [`Watch`] wakes up |
//! | --- | --- | --- |
//! | [`Signal::VmClock`] | before the clone runs | with the device's interrupt; if the driver does not report that, as before Linux 7.0, within 0.1 seconds |
//! | [`Signal::VmgenidPage`] | before the clone runs | the same, with squall's kernel module |
//! | [`Signal::KernelLog`] | once the kernel has handled vmgenid's interrupt: milliseconds after the clone runs | then |
//!
//! In emulated machines the kernel handled the interrupt after a tenth of a second in the median (docs/records/reset.md).
//!
//! A live migration changes none of these, except that some hypervisors give a moved VM a new vmgenid. Processes that
//! are restored by themselves (CRIU) are not noticed. docs/guides/clones.md says what to do in a program, on a machine
//! and in a platform.

mod kernel_log;

use core::ffi::c_int;
use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Instant;

use crate::file::File;
use crate::guard::clone_signal::CloneGuard;
use crate::guard::freshness;
use crate::guard::policy::Policy;
use kernel_log::KernelLog;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub use kernel_log::replace as kernel_log_for_testing;

/// How this machine shows that it was cloned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// vmclock's generation counter.
    VmClock,
    /// vmgenid's page, which squall's kernel module shows.
    VmgenidPage,
    /// The message that the kernel writes to its log when vmgenid has reported a clone (Linux 5.18). Reading the log takes
    /// CAP_SYSLOG, or kernel.dmesg_restrict=0, and /dev/kmsg.
    KernelLog,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signal::VmClock => "vmclock",
            Signal::VmgenidPage => "vmgenid-page",
            Signal::KernelLog => "kernel-log",
        })
    }
}

/// What [`signal`] has found, once per process.
static FOUND: AtomicU8 = AtomicU8::new(NOT_LOOKED_FOR);

const NOT_LOOKED_FOR: u8 = 0;
const NOTHING: u8 = 1;
const VMCLOCK: u8 = 2;
const VMGENID_PAGE: u8 = 3;
const KERNEL_LOG: u8 = 4;

/// The signal that [`generation`] follows; `None` if nothing on this machine shows that it was cloned, or if this
/// process may not see it.
///
/// The first call looks for it, in some ten microseconds, and opens /dev/kmsg if no page shows clones.
/// It allocates nothing and takes no lock.
pub fn signal() -> Option<Signal> {
    match FOUND.load(Ordering::Acquire) {
        NOTHING => None,
        VMCLOCK => Some(Signal::VmClock),
        VMGENID_PAGE => Some(Signal::VmgenidPage),
        KERNEL_LOG => Some(Signal::KernelLog),
        _ => find(),
    }
}

#[cold]
fn find() -> Option<Signal> {
    // The second draw looks for the machine's signals. A machine without a source of randomness has none here.
    for _ in 0..2 {
        crate::try_fill(&mut [0]).ok()?;
    }
    let policy = Policy::get();
    let (found, signal) = match policy.signal.and_then(|signal| signal.guard) {
        Some(CloneGuard::VmClock) => (VMCLOCK, Some(Signal::VmClock)),
        Some(CloneGuard::VmgenidPage) => (VMGENID_PAGE, Some(Signal::VmgenidPage)),
        _ if policy.has_vmgenid && kernel_log::begin() => (KERNEL_LOG, Some(Signal::KernelLog)),
        _ => (NOTHING, None),
    };
    FOUND.store(found, Ordering::Release);
    signal
}

/// A number that differs from the one before once this process may run in another copy of its machine; `None` if that
/// is unknown.
///
/// Compare it with earlier numbers of the same process only. Two clones may have the same number: it says that the
/// machine was copied, not which copy this is.
///
/// Takes a nanosecond or two. With [`Signal::KernelLog`], it takes a system call for as long as a second after each
/// reseed of the kernel's RNG, which comes once a minute; before Linux 6.11, which does not show reseeds, always. It also
/// changes if the log has lost messages that were not read.
///
/// # Forks
/// A forked child goes on with its parent's number. With [`Signal::KernelLog`], its number changes once more at the
/// kernel's next reseed, because its parent may have read a message that the child has not. If the child may not read
/// the log any more, it becomes unknown.
///
/// Safe in signal handlers.
#[inline]
pub fn generation() -> Option<NonZeroU64> {
    match FOUND.load(Ordering::Acquire) {
        VMCLOCK | VMGENID_PAGE => immediate(),
        KERNEL_LOG => NonZeroU64::new(kernel_log::generation()),
        NOTHING => None,
        _ => {
            signal()?;
            generation()
        }
    }
}

/// The value of a signal in memory. One identifier in 2^64 would read as unknown.
#[inline]
fn immediate() -> Option<NonZeroU64> {
    // SAFETY: a signal was found, and its page stays mapped.
    NonZeroU64::new(unsafe { freshness::signal_address().value() })
}

/// How often a watch looks at a signal that cannot be waited for.
const PERIOD: Duration = Duration::from_millis(100);

/// Waits for clones of this machine.
///
/// Its descriptor ([`AsFd`]) can be given to poll, epoll or tokio's `AsyncFd`. It becomes readable if the machine may
/// have been cloned, and now and then without reason: [`Watch::take_change`] tells which, and makes it wait again.
///
/// A watch belongs to the process that made it: a forked child makes its own.
#[derive(Debug)]
pub struct Watch {
    /// An epoll instance with the following ones.
    epoll: OwnedFd,
    /// The device with the signal, if its driver reports changes.
    device: Option<File>,
    log: Option<KernelLog>,
    /// Expires periodically, if there is nothing that can be waited for.
    timer: Option<OwnedFd>,
    /// The generation that the owner of this watch knows.
    last: Option<NonZeroU64>,
}

impl Watch {
    /// Begins to watch: clones from now on are reported.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if nothing on this machine shows clones ([`signal`] is `None`); what the system
    /// calls return.
    pub fn new() -> io::Result<Watch> {
        let signal = signal().ok_or_else(unsupported)?;
        let policy = Policy::get();
        let device = match policy.signal {
            Some(device) if signal != Signal::KernelLog => device.open_to_poll(),
            _ => None,
        };
        let log = match device {
            None if policy.has_vmgenid => KernelLog::open(),
            _ => None,
        };
        let timer = match (&device, &log) {
            (None, None) => Some(periodic_timer(PERIOD)?),
            _ => None,
        };
        let watch = Watch {
            // SAFETY: the call takes a number.
            epoll: owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?,
            device,
            log,
            timer,
            last: generation(),
        };
        let descriptors = [
            watch.device.as_ref().map(File::descriptor),
            watch.log.as_ref().map(KernelLog::descriptor),
            watch.timer.as_ref().map(OwnedFd::as_raw_fd),
        ];
        for descriptor in descriptors.into_iter().flatten() {
            watch.wait_for(descriptor)?;
        }
        Ok(watch)
    }

    /// Makes this watch wake up when the descriptor has input.
    fn wait_for(&self, descriptor: RawFd) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        let (this, add) = (self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: the event is readable.
        result(unsafe { libc::epoll_ctl(this, add, descriptor, &mut event) }).map(drop)
    }

    /// Whether the machine may have been cloned since the last call, or since this watch began. Never waits.
    ///
    /// # Errors
    /// What reading the kernel's log returns.
    pub fn take_change(&mut self) -> io::Result<bool> {
        if let Some(timer) = &self.timer {
            let mut expirations = [0u8; 8];
            // SAFETY: the buffer is writable for its length. If nothing has expired, nothing is read.
            unsafe { libc::read(timer.as_raw_fd(), expirations.as_mut_ptr().cast(), 8) };
        }
        // Reading makes the device wait for the next change.
        if let Some(device) = &self.device
            && device.read(&mut [0; 8]).is_none()
        {
            // It was removed: its page stays as it is.
            self.device = None;
            let timer = periodic_timer(PERIOD)?;
            self.wait_for(timer.as_raw_fd())?;
            self.timer = Some(timer);
        }
        if let Some(log) = &self.log {
            log.read()?;
        }
        let now = generation();
        Ok(std::mem::replace(&mut self.last, now) != now)
    }

    /// Waits until the machine may have been cloned. False if `timeout` passed without; `None` waits forever.
    ///
    /// # Errors
    /// What poll(2) and reading the kernel's log return; a signal handler that runs meanwhile is no error.
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
            // A whole millisecond more, so that it does not spin in the last one.
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

fn unsupported() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "nothing shows this process that its machine was cloned: give the virtual machine a vmgenid or a vmclock, and \
         install squall's kernel module (squall-vmgenid-dkms) or let the process read /dev/kmsg (CAP_SYSLOG)",
    )
}

fn periodic_timer(period: Duration) -> io::Result<OwnedFd> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: the call takes numbers.
    let timer = owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
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

/// The result of a system call, which is negative after an error.
fn result(result: c_int) -> io::Result<c_int> {
    match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The new descriptor that a system call has returned.
fn owned(descriptor: c_int) -> io::Result<OwnedFd> {
    // SAFETY: it is new, so nobody else owns it.
    result(descriptor).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}
