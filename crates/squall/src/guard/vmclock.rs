//! The count of vmclock that changes before a restored VM runs again.
//!
//! It is the VM generation counter where the device has one, which a restore from a snapshot
//! changes, and else the disruption marker, which changes when clocks are disrupted. QEMU 10 and
//! 11 have the marker only, and change it with each restore. Hypervisors should, says the cover
//! letter of "ptp: vmclock: add vm generation counter" (B. Chalios, 2025); but the specification
//! does not, so the marker is looked at and never relied on.
//!
//! The device's page is specified in Linux's include/uapi/linux/vmclock-abi.h. The count is a signal, never entropy: sibling clones see the same new value.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::memory::page_size;
use crate::file::File;

const MAGIC: u32 = 0x4b4c_4356;
const MAGIC_AT: usize = 0;
const SIZE_AT: usize = 4;
const VERSION_AT: usize = 8;
const MARKER_AT: usize = 16;
const FLAGS_AT: usize = 24;
const GENERATION_AT: usize = 104;

/// `flags` bit that says the generation counter is there.
const HAS_GENERATION: u64 = 1 << 8;

/// A mapped vmclock page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VmClock {
    page: NonNull<u8>,
    /// Where in it the count stands.
    count_at: usize,
}

impl VmClock {
    /// The machine's vmclock, if there is one and this process may read it.
    pub fn open() -> Option<VmClock> {
        #[cfg(feature = "testing")]
        if let Some(path) = INSTEAD.get() {
            return Self::open_at(path);
        }
        Self::open_at(c"/dev/vmclock0")
    }

    fn open_at(path: &CStr) -> Option<VmClock> {
        let file = File::open(path, 0).ok()?;
        let protection = libc::PROT_READ;
        // SAFETY: a new mapping at an address of the kernel's choice. The device wants exactly
        // one page.
        let page = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                page_size(),
                protection,
                libc::MAP_SHARED,
                file.descriptor(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return None;
        }
        let mut clock = VmClock {
            page: NonNull::new(page.cast())?,
            count_at: MARKER_AT,
        };
        match clock.find_count() {
            Some(count_at) => clock.count_at = count_at,
            None => {
                super::memory::unmap(clock.page);
                return None;
            }
        }
        Some(clock)
    }

    /// The count plus one: 0 stands for no vmclock. Aligned and of 64 bits, it is never seen
    /// half-changed, so the page's sequence count, which guards the clock's other fields, is not
    /// needed.
    #[inline]
    pub fn generation(self) -> u64 {
        self.word64(self.count_at)
            .load(Ordering::Acquire)
            .wrapping_add(1)
    }

    /// Whether the count is of restores alone. The marker is one more thing that is looked at: that
    /// it changes with a restore is what hypervisors do, and not in the device's specification.
    pub fn counts_generations(self) -> bool {
        self.count_at == GENERATION_AT
    }

    /// Where the count stands, to be read on each request.
    pub fn place(&self) -> *const AtomicU64 {
        self.word64(self.count_at)
    }

    /// Where the page's count stands; nowhere if this is no vmclock's page.
    fn find_count(self) -> Option<usize> {
        let word32 = |at| self.word32(at).load(Ordering::Relaxed);
        let has = |at: usize| word32(SIZE_AT) as usize >= at + size_of::<u64>();
        if word32(MAGIC_AT) != MAGIC || word32(VERSION_AT) as u16 != 1 || !has(MARKER_AT) {
            return None;
        }
        let counts_generations =
            self.word64(FLAGS_AT).load(Ordering::Relaxed) & HAS_GENERATION != 0;
        match counts_generations && has(GENERATION_AT) {
            true => Some(GENERATION_AT),
            false => Some(MARKER_AT),
        }
    }

    fn word32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: a whole page is mapped for as long as the process lives, and `at` is one of
        // the aligned offsets above.
        unsafe { &*self.page.as_ptr().add(at).cast() }
    }

    fn word64(&self, at: usize) -> &AtomicU64 {
        // SAFETY: as for `word32`.
        unsafe { &*self.page.as_ptr().add(at).cast() }
    }
}

// SAFETY: the page is read-only, never unmapped once usable, and read by atomic loads.
unsafe impl Send for VmClock {}
// SAFETY: as above.
unsafe impl Sync for VmClock {}

/// The count as it was last seen, and the kernel generation at which it was seen to
/// change; 0 for never.
static SEEN: AtomicU64 = AtomicU64::new(0);
static CHANGED_UNDER: AtomicU64 = AtomicU64::new(0);

/// Notes the count at a seeding under the kernel's `generation`.
pub(crate) fn note(count: u64, generation: u64) {
    let seen = SEEN.swap(count, Ordering::Relaxed);
    if seen != 0 && seen != count {
        CHANGED_UNDER.store(generation, Ordering::Relaxed);
    }
}

/// Whether the count changed and the kernel has not reseeded since: until it has, it may give
/// sibling clones the same bytes.
pub(crate) fn is_unsettled(generation: u64) -> bool {
    let changed_under = CHANGED_UNDER.load(Ordering::Relaxed);
    changed_under != 0 && changed_under == generation
}

#[cfg(feature = "testing")]
static INSTEAD: std::sync::OnceLock<&'static CStr> = std::sync::OnceLock::new();

/// Uses the file at `path`, which imitates the device's page, instead of the device.
#[cfg(feature = "testing")]
pub fn open_instead(path: &'static CStr) {
    INSTEAD.set(path).expect("the device is replaced once");
}
