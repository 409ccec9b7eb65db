//! The signal of clones: a value in this VM's memory that changes before a restored VM runs again: kvm-clock's
//! records, vmclock's count or vmgenid's identifier.
//!
//! The value is a signal, never entropy: sibling clones may see the same new value. A file below describes each
//! device that has one; [`DEVICES`] lists them. Where [kvm-clock](super::kvm_clock) answers, no device is looked for.

mod misc_device;
mod vmclock;
mod vmgenid_page;

use core::ffi::CStr;
use core::ptr::NonNull;

use super::kvm_clock;
use super::memory;
use super::signal_address::{Layout, SignalAddress};
use crate::file::File;
use crate::signal::Signal;
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

/// A mapped page with the signal in it. The page is read-only, and stays mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloneSignal {
    /// Which signal it is; `None` if not every restore of this VM changes it. It is then an additional signal,
    /// which is checked but never relied on.
    pub signal: Option<Signal>,
    /// Where the device is; `None` for kvm-clock.
    pub device: Option<&'static CStr>,
    page: NonNull<u8>,
    /// Offset of the signal in the page, in bytes.
    at: usize,
    layout: Layout,
}

impl CloneSignal {
    /// The best of the devices' signals that this process may read: the first that every restore changes, or else
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

    /// kvm-clock, if its records are readable here and look like KVM's.
    pub fn of_kvm_clock() -> Option<CloneSignal> {
        let records = kvm_clock::records()?;
        Some(CloneSignal {
            signal: Some(Signal::KvmClock),
            device: None,
            page: records.cast(),
            at: 0,
            layout: kvm_clock::layout(),
        })
    }

    /// Unmaps the page of a signal that is not going to be used.
    fn unmap(&self) {
        memory::unmap(self.page);
    }

    /// Whether every restore of this VM changes the signal.
    pub fn is_relied_on(&self) -> bool {
        match self.signal {
            Some(Signal::KvmClock) => kvm_clock::is_relied_on(),
            signal => signal.is_some(),
        }
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
            .position(|device| Some(device.path()) == self.device)?;
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
            layout: self.layout,
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU64, Ordering};

    const WORD: usize = size_of::<u64>();

    /// A signal in ordinary memory, at offset 104 of its page.
    pub(in crate::guard) fn imitation(kind: Option<Signal>) -> CloneSignal {
        /// Addresses of pages that are never freed, so that AddressSanitizer sees no leak.
        static PAGES: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
        let page = NonNull::from(Box::leak(Box::new([0u64; 4096 / WORD])));
        PAGES.lock().unwrap().push(page.addr().get());
        let is_identifier = kind == Some(Signal::VmgenidPage);
        CloneSignal {
            signal: kind,
            device: Some(c"/dev/imitation"),
            page: page.cast(),
            at: 104,
            layout: if is_identifier {
                Layout::TWO_WORDS
            } else {
                Layout::ONE_WORD
            },
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
        for kind in [Some(Signal::VmClock), None] {
            let signal = imitation(kind);
            let before = signal.value();
            assert_ne!(before, 0);
            for at in [96, 112] {
                set(signal, at, 7);
                assert_eq!(signal.value(), before, "the neighbour at {at}");
            }
            set(signal, 104, 7);
            assert_ne!(signal.value(), before);
            assert_eq!(signal.is_relied_on(), kind.is_some());
        }
    }

    #[test]
    fn an_identifier_is_two_words() {
        let signal = imitation(Some(Signal::VmgenidPage));
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
}
