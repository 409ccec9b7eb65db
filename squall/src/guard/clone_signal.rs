//! The signal of clones: a value in this VM's memory that changes before a restored VM runs again,
//! such as vmclock's count or vmgenid's identifier.
//!
//! The value is a signal, never entropy: sibling clones may see the same new value. A file below describes each
//! device that has one; [`DEVICES`] lists them.

mod misc_device;
mod vmclock;
mod vmgenid_page;

use core::ffi::CStr;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::memory;
use super::signal_address::SignalAddress;
use crate::file::File;
pub(super) use misc_device::is_unidentified;

/// A device of the kernel that shows a signal.
trait Device {
    /// Where the device is.
    fn path(&self) -> &'static CStr;

    /// Whether the device's driver gives it this name.
    fn is_named(&self, name: &[u8]) -> bool;

    /// The signal that the open device shows; `None` if it shows none.
    fn signal(&self, file: &File) -> Option<CloneSignal>;
}

/// The most preferred first.
const DEVICES: [&dyn Device; 2] = [&vmclock::VmClock, &vmgenid_page::VmgenidPage];

/// The paths of the devices that may have a signal, the most preferred first.
pub fn device_paths() -> [&'static CStr; DEVICES.len()] {
    DEVICES.map(Device::path)
}

/// What keeps a VM clone from repeating its sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloneGuard {
    /// No hypervisor announces itself, and there is no vmgenid or vmclock.
    NotAVm,
    /// vmclock's generation counter, which changes before a clone runs.
    VmClock,
    /// vmgenid's page, which squall's kernel module shows and which changes before a clone runs.
    VmgenidPage,
    /// vmgenid: the kernel reseeds when it is notified of the clone, milliseconds after the clone runs.
    /// Until then, requests are made different in each clone.
    Vmgenid,
    /// There is no signal, or none that the program relies on ([`distrust_clone_signals`]): requests are
    /// always made different in each clone.
    ///
    /// [`distrust_clone_signals`]: crate::hazmat::distrust_clone_signals
    NoSignal,
}

impl fmt::Display for CloneGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CloneGuard::NotAVm => "not-a-vm",
            CloneGuard::VmClock => "vmclock",
            CloneGuard::VmgenidPage => "vmgenid-page",
            CloneGuard::Vmgenid => "vmgenid",
            CloneGuard::NoSignal => "no-signal",
        })
    }
}

/// A mapped page with the signal in it. The page is read-only, and stays mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloneSignal {
    /// The guard that it is; `None` if not every restore of this VM changes it. It is then an additional signal,
    /// which is checked but never relied on.
    pub guard: Option<CloneGuard>,
    /// Where the device is.
    pub device: &'static CStr,
    page: NonNull<u8>,
    /// Offset of the signal in the page, in bytes.
    at: usize,
    /// Bytes from the signal's first word to its last: 0 if there is only one.
    to_last: u16,
}

impl CloneSignal {
    /// The best of the machine's signals that this process may read: the first that every restore changes, or else
    /// the first that is only checked.
    pub fn find() -> Option<CloneSignal> {
        let mut additional: Option<CloneSignal> = None;
        for (number, device) in DEVICES.into_iter().enumerate() {
            let Some(signal) = open_device(number).and_then(|file| device.signal(&file)) else {
                continue;
            };
            if signal.is_relied_on() {
                additional.inspect(CloneSignal::unmap);
                return Some(signal);
            }
            match additional {
                None => additional = Some(signal),
                Some(_) => signal.unmap(),
            }
        }
        additional
    }

    /// Unmaps the page of a signal that is not going to be used.
    fn unmap(&self) {
        memory::unmap(self.page);
    }

    /// Whether every restore of this VM changes the signal.
    pub fn is_relied_on(&self) -> bool {
        self.guard.is_some()
    }

    /// The signal's value, never 0 but for one identifier in 2^64.
    ///
    /// Its words are aligned and change while the VM is stopped, so none is ever seen half-changed.
    /// vmclock's sequence count, which guards the clock's other fields, is not needed.
    #[inline]
    pub fn value(self) -> u64 {
        // SAFETY: a `CloneSignal`'s page stays mapped.
        unsafe { self.address().value() }
    }

    /// The device, open once more, if its driver reports changes to poll(2). A driver without support reports at once
    /// that everything is possible, even writing, or that the device has hung up.
    pub fn open_to_poll(&self) -> Option<File> {
        let number = DEVICES
            .iter()
            .position(|device| device.path() == self.device)?;
        let file = open_device(number)?;
        let mut poll = libc::pollfd {
            fd: file.descriptor(),
            events: libc::POLLIN | libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one structure, writable.
        let answered = unsafe { libc::poll(&mut poll, 1, 0) };
        (answered >= 0 && poll.revents & !libc::POLLIN == 0).then_some(file)
    }

    /// The address of the signal, to be read on each request.
    pub fn address(self) -> SignalAddress {
        SignalAddress {
            // SAFETY: `at` is within the page.
            first: unsafe { self.page.add(self.at) }.cast().as_ptr(),
            to_last: self.to_last,
        }
    }
}

/// Opens the device with this number in [`DEVICES`].
fn open_device(number: usize) -> Option<File> {
    let device = DEVICES[number];
    let path = device.path();
    #[cfg(feature = "testing")]
    let path = *REPLACEMENTS[number].get().unwrap_or(&path);
    misc_device::open(device, path)
}

#[cfg(feature = "testing")]
static REPLACEMENTS: [std::sync::OnceLock<&'static CStr>; DEVICES.len()] =
    [const { std::sync::OnceLock::new() }; DEVICES.len()];

/// Looks for `device` at `path` instead. A file there that imitates the device's page is used only with
/// [`Failpoint::SkipCloneDeviceCheck`](crate::failpoint::Failpoint::SkipCloneDeviceCheck).
#[cfg(feature = "testing")]
pub fn replace_device(device: &CStr, path: &'static CStr) {
    let number = DEVICES.iter().position(|known| known.path() == device);
    let replacement = &REPLACEMENTS[number.expect("a device of the list")];
    replacement.set(path).expect("it is replaced once");
}

// SAFETY: the page is read-only, never unmapped once in use, and read by atomic loads.
unsafe impl Send for CloneSignal {}
// SAFETY: as above.
unsafe impl Sync for CloneSignal {}

/// The values of the signal that this process has seen.
struct SignalHistory {
    /// The value as last seen; 0 if never.
    value: AtomicU64,
    /// The kernel's generation when the value was seen to change; 0 if never.
    changed_under: AtomicU64,
}

static HISTORY: SignalHistory = SignalHistory::new();

impl SignalHistory {
    const fn new() -> SignalHistory {
        SignalHistory {
            value: AtomicU64::new(0),
            changed_under: AtomicU64::new(0),
        }
    }

    fn record(&self, value: u64, generation: u64) {
        let history = self.value.load(Ordering::Acquire);
        if history != 0 && history != value {
            self.changed_under.store(generation, Ordering::Relaxed);
        }
        // A thread that reads the new value also reads the generation under which it changed.
        self.value.store(value, Ordering::Release);
    }

    fn is_reseed_pending(&self, generation: u64) -> bool {
        let changed_under = self.changed_under.load(Ordering::Relaxed);
        changed_under != 0 && changed_under == generation
    }
}

/// Records the value at a seeding under the kernel's `generation`.
pub(crate) fn record(value: u64, generation: u64) {
    HISTORY.record(value, generation);
}

/// Whether the value changed and the kernel has not reseeded since: until it has, it may give
/// sibling clones the same bytes.
pub(crate) fn is_reseed_pending(generation: u64) -> bool {
    HISTORY.is_reseed_pending(generation)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const WORD: usize = size_of::<u64>();

    /// A signal in ordinary memory, at offset 104 of its page.
    pub(in crate::guard) fn imitation(guard: Option<CloneGuard>) -> CloneSignal {
        /// Addresses of pages that are never freed, so that AddressSanitizer sees no leak.
        static PAGES: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
        let page = NonNull::from(Box::leak(Box::new([0u64; 4096 / WORD])));
        PAGES.lock().unwrap().push(page.addr().get());
        let words = if guard == Some(CloneGuard::VmgenidPage) {
            2
        } else {
            1
        };
        CloneSignal {
            guard,
            device: c"/dev/imitation",
            page: page.cast(),
            at: 104,
            to_last: ((words - 1) * WORD) as u16,
        }
    }

    fn set(signal: CloneSignal, at: usize, word: u64) {
        // SAFETY: the imitation's page is writable and stays.
        unsafe {
            (*signal.page.as_ptr().add(at).cast::<AtomicU64>()).store(word, Ordering::Relaxed)
        };
    }

    #[test]
    fn a_count_is_one_word() {
        for guard in [Some(CloneGuard::VmClock), None] {
            let signal = imitation(guard);
            let before = signal.value();
            assert_ne!(before, 0);
            for at in [96, 112] {
                set(signal, at, 7);
                assert_eq!(signal.value(), before, "the neighbour at {at}");
            }
            set(signal, 104, 7);
            assert_ne!(signal.value(), before);
            assert_eq!(signal.is_relied_on(), guard.is_some());
        }
    }

    #[test]
    fn an_identifier_is_two_words() {
        let signal = imitation(Some(CloneGuard::VmgenidPage));
        let before = signal.value();
        for (at, changes) in [(96, false), (104, true), (112, true), (120, false)] {
            for bit in 0..64 {
                set(signal, at, 1 << bit);
                assert_eq!(signal.value() != before, changes, "bit {bit} at {at}");
            }
            set(signal, at, 0);
        }
        assert!(signal.is_relied_on());
    }

    #[test]
    fn a_reseed_is_pending_under_the_generation_of_the_change_alone() {
        let history = SignalHistory::new();
        history.record(5, 10);
        history.record(5, 11);
        for generation in [0, 10, 11] {
            assert!(
                !history.is_reseed_pending(generation),
                "nothing has changed"
            );
        }
        history.record(6, 12);
        history.record(6, 13);
        for (generation, is_reseed_pending) in [(0, false), (11, false), (12, true), (13, false)] {
            assert_eq!(
                history.is_reseed_pending(generation),
                is_reseed_pending,
                "{generation}"
            );
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn who_sees_the_new_value_sees_that_it_has_changed() {
        let history = SignalHistory::new();
        history.record(5, 10);
        let is_hidden = core::cell::Cell::new(false);
        let look = |_| {
            if history.value.load(Ordering::Relaxed) == 6 && !history.is_reseed_pending(11) {
                is_hidden.set(true);
            }
        };
        crate::steps::step_through(|| history.record(6, 11), &look);
        assert!(history.is_reseed_pending(11) && !is_hidden.get());
    }
}
