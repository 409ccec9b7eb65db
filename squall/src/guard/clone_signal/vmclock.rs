//! vmclock's count, which changes before a restored VM runs again.
//!
//! The count is the VM generation counter where the device has one; a restore from a snapshot
//! changes it. Otherwise the count is the disruption marker, which changes when clocks are disrupted.
//! QEMU 10 and 11 have only the marker, and change it with each restore. The cover letter of "ptp:
//! vmclock: add vm generation counter" (B. Chalios, 2025) says that hypervisors should do so, but the
//! specification does not, so the marker is checked but never relied on.

mod layout;

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{CloneSignal, Device, Signal, misc_device};
use crate::file::File;
use crate::guard::memory;
use crate::guard::signal_address::Layout;
use layout::GENERATION_AT;

pub(super) struct VmClock;

impl Device for VmClock {
    fn path(&self) -> &'static CStr {
        c"/dev/vmclock0"
    }

    /// The driver (drivers/ptp/ptp_vmclock.c) names its devices `vmclock` and a number.
    fn is_named(&self, name: &[u8]) -> bool {
        name.strip_prefix(b"vmclock")
            .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    }

    fn signal(&self, file: &File) -> Option<CloneSignal> {
        let page = misc_device::map(file)?;
        let word = |at| {
            // SAFETY: a whole page is mapped, and `at` is one of the layout's aligned offsets.
            unsafe { &*page.as_ptr().add(at).cast::<AtomicU64>() }.load(Ordering::Relaxed)
        };
        let Some(at) = layout::count_at(word) else {
            memory::unmap(page);
            return None;
        };
        Some(CloneSignal {
            signal: (at == GENERATION_AT).then_some(Signal::VmClock),
            device: Some(self.path()),
            page,
            at,
            layout: Layout::ONE_WORD,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drivers_names_are_vmclocks() {
        for name in ["vmclock0", "vmclock12"] {
            assert!(VmClock.is_named(name.as_bytes()), "{name}");
        }
        for name in ["", "vmclock", "vmclock0a", "fuse", "xvmclock0"] {
            assert!(!VmClock.is_named(name.as_bytes()), "{name}");
        }
    }
}
