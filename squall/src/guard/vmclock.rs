//! vmclock's count, which changes before a restored VM runs again.
//!
//! The count is the VM generation counter where the device has one; a restore from a snapshot
//! changes it. Otherwise the count is the disruption marker, which changes when clocks are disrupted.
//! QEMU 10 and 11 have only the marker, and change it with each restore. The cover letter of "ptp:
//! vmclock: add vm generation counter" (B. Chalios, 2025) says that hypervisors should do so, but the
//! specification does not, so the marker is checked but never relied on.

pub mod layout;

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::clone_signal::{CloneSignal, Kind};
use super::{memory, misc_device};
use layout::GENERATION_AT;

/// The machine's vmclock, if there is one and this process may read it.
pub(super) fn open() -> Option<CloneSignal> {
    #[cfg(feature = "testing")]
    if let Some(path) = REPLACEMENT.get() {
        return open_at(path);
    }
    open_at(c"/dev/vmclock0")
}

fn open_at(path: &CStr) -> Option<CloneSignal> {
    let page = misc_device::map(&misc_device::open(path, is_drivers_name)?)?;
    let count = find_count(page);
    if count.is_none() {
        memory::unmap(page);
    }
    count
}

/// The count of a mapped page; `None` if the page is not a vmclock's.
fn find_count(page: NonNull<u8>) -> Option<CloneSignal> {
    let word = |at| {
        // SAFETY: a whole page is mapped, and `at` is one of the layout's aligned offsets.
        unsafe { &*page.as_ptr().add(at).cast::<AtomicU64>() }.load(Ordering::Relaxed)
    };
    let at = layout::count_at(word)?;
    let kind = if at == GENERATION_AT {
        Kind::VmClock
    } else {
        Kind::DisruptionMarker
    };
    Some(CloneSignal::new(kind, page, at))
}

/// Whether the driver (drivers/ptp/ptp_vmclock.c) names its devices so: `vmclock` and a number.
fn is_drivers_name(name: &[u8]) -> bool {
    name.strip_prefix(b"vmclock")
        .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

#[cfg(feature = "testing")]
static REPLACEMENT: std::sync::OnceLock<&'static CStr> = std::sync::OnceLock::new();

/// Looks for the device at `path` instead. A file there that imitates the device's page is used
/// only with [`Failpoint::SkipCloneDeviceCheck`](crate::failpoint::Failpoint::SkipCloneDeviceCheck).
#[cfg(feature = "testing")]
pub fn replace_device(path: &'static CStr) {
    REPLACEMENT.set(path).expect("the device is replaced once");
}

#[cfg(test)]
mod tests {
    use super::is_drivers_name;

    #[test]
    fn only_the_drivers_names_are_vmclocks() {
        for name in ["vmclock0", "vmclock12"] {
            assert!(is_drivers_name(name.as_bytes()), "{name}");
        }
        for name in ["", "vmclock", "vmclock0a", "fuse", "xvmclock0"] {
            assert!(!is_drivers_name(name.as_bytes()), "{name}");
        }
    }
}
