//! vmclock's count, which changes before a restored VM runs again.
//!
//! The count is the VM generation counter where the device has one; a restore from a snapshot
//! changes it. Otherwise it is the disruption marker, which changes when clocks are disrupted. QEMU
//! 10 and 11 have only the marker, and change it with each restore. Hypervisors should, says the
//! cover letter of "ptp: vmclock: add vm generation counter" (B. Chalios, 2025); the specification
//! does not, so the marker is checked but never relied on.
//!
//! The count is a signal, never entropy: sibling clones see the same new value.
//!
//! Only the kernel's device is accepted. A file in its place could be truncated, and a draw would
//! then end the program by SIGBUS; or its count might never change.

pub mod layout;

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::io::Write;

use super::memory::page_size;
use crate::failpoint::{self, Failpoint};
use crate::file::{self, File};
use layout::{GENERATION_AT, MARKER_AT};

/// A mapped vmclock page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VmClock {
    page: NonNull<u8>,
    /// Offset of the count in the page.
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
        // Opening another device could have an effect, and opening a FIFO could block the draw: O_PATH
        // opens neither.
        check(&File::open(path, libc::O_PATH).ok()?)?;
        let file = File::open(path, libc::O_NONBLOCK).ok()?;
        check(&file)?;
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

    /// The count plus one: 0 stands for no vmclock. It is an aligned 64-bit word, so it is never seen
    /// half-changed, and the page's sequence count, which guards the clock's other fields, is not
    /// needed.
    #[inline]
    pub fn generation(self) -> u64 {
        self.word64(self.count_at)
            .load(Ordering::Acquire)
            .wrapping_add(1)
    }

    /// Whether the count counts restores alone. The marker is only an additional signal: hypervisors
    /// change it with a restore, but the device's specification does not require that.
    pub fn counts_generations(self) -> bool {
        self.count_at == GENERATION_AT
    }

    /// The address of the count, to be read on each request.
    pub fn place(&self) -> *const AtomicU64 {
        self.word64(self.count_at)
    }

    /// Offset of the page's count; `None` if the page is not a vmclock's.
    fn find_count(self) -> Option<usize> {
        layout::count_at(|at| self.word64(at).load(Ordering::Relaxed))
    }

    fn word64(&self, at: usize) -> &AtomicU64 {
        // SAFETY: a whole page is mapped for as long as the process lives, and `at` is one of the
        // layout's aligned offsets.
        unsafe { &*self.page.as_ptr().add(at).cast() }
    }
}

/// What a file in the place of the device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// A device of Linux's vmclock driver.
    VmClock,
    /// A misc device, like the driver's, that cannot be identified: without /sys, for example.
    Unknown,
    Other,
}

/// Whether there is a device that may be a vmclock but cannot be identified. It is not used, and the
/// machine is taken for a VM.
static IS_UNIDENTIFIED: AtomicBool = AtomicBool::new(false);

/// Whether [`VmClock::open`] has found a device that it could not identify.
pub(super) fn is_unidentified() -> bool {
    IS_UNIDENTIFIED.load(Ordering::Relaxed)
}

/// `None` if this is not a vmclock, or cannot be identified.
fn check(file: &File) -> Option<()> {
    match identify(file) {
        Identity::VmClock => Some(()),
        Identity::Unknown => {
            IS_UNIDENTIFIED.store(true, Ordering::Relaxed);
            None
        }
        Identity::Other => failpoint::is_off(Failpoint::VmClockDevice).then_some(()),
    }
}

/// Identifies the device by its number, not by the path it was opened by: a vmclock is a misc device
/// that the kernel calls vmclock, with a number (drivers/ptp/ptp_vmclock.c).
fn identify(file: &File) -> Identity {
    /// The major number of misc devices (Linux Documentation/admin-guide/devices.txt).
    const MISC: u32 = 10;
    let Some(stat) = file::stat(file.descriptor()) else {
        return Identity::Other;
    };
    if stat.st_mode & libc::S_IFMT != libc::S_IFCHR || libc::major(stat.st_rdev) != MISC {
        return Identity::Other;
    }
    // Room for any number, and the null byte.
    let mut path = [0; 32];
    let minor = libc::minor(stat.st_rdev);
    write!(&mut path[..], "/sys/dev/char/{MISC}:{minor}\0").expect("a number of 32 bits fits");
    let path = CStr::from_bytes_until_nul(&path).expect("it ends with a null byte");
    identity_behind(file::link_target(path, &mut [0; 256]))
}

/// Identifies a misc device by the target of its link in sysfs.
fn identity_behind(target: Option<&[u8]>) -> Identity {
    match target {
        None => Identity::Unknown,
        Some(target) if names_vmclock(target) => Identity::VmClock,
        Some(_) => Identity::Other,
    }
}

/// Whether a path ends in `vmclock` and a number.
fn names_vmclock(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next();
    name.and_then(|name| name.strip_prefix(b"vmclock"))
        .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

// SAFETY: the page is read-only, never unmapped once usable, and read by atomic loads.
unsafe impl Send for VmClock {}
// SAFETY: as above.
unsafe impl Sync for VmClock {}

/// What this process has seen of the count.
struct Seen {
    /// The count as last seen; 0 if never.
    count: AtomicU64,
    /// The kernel's generation when the count was seen to change; 0 if never.
    changed_under: AtomicU64,
}

static SEEN: Seen = Seen::new();

impl Seen {
    const fn new() -> Seen {
        Seen {
            count: AtomicU64::new(0),
            changed_under: AtomicU64::new(0),
        }
    }

    fn note(&self, count: u64, generation: u64) {
        let seen = self.count.swap(count, Ordering::Relaxed);
        if seen != 0 && seen != count {
            self.changed_under.store(generation, Ordering::Relaxed);
        }
    }

    fn is_unsettled(&self, generation: u64) -> bool {
        let changed_under = self.changed_under.load(Ordering::Relaxed);
        changed_under != 0 && changed_under == generation
    }
}

/// Records the count at a seeding under the kernel's `generation`.
pub(crate) fn note(count: u64, generation: u64) {
    SEEN.note(count, generation);
}

/// Whether the count changed and the kernel has not reseeded since: until it has, it may give
/// sibling clones the same bytes.
pub(crate) fn is_unsettled(generation: u64) -> bool {
    SEEN.is_unsettled(generation)
}

#[cfg(feature = "testing")]
static INSTEAD: std::sync::OnceLock<&'static CStr> = std::sync::OnceLock::new();

/// Looks for the device at `path` instead. A file there that imitates the device's page is used
/// only with [`Failpoint::VmClockDevice`] off.
#[cfg(feature = "testing")]
pub fn open_instead(path: &'static CStr) {
    INSTEAD.set(path).expect("the device is replaced once");
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const WORD: usize = size_of::<u64>();

    /// A clock in ordinary memory, with a generation counter or only a marker.
    pub(in crate::guard) fn imitation(counts_generations: bool) -> VmClock {
        /// Addresses of pages that are never freed, so that AddressSanitizer sees no leak.
        static PAGES: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
        let page = NonNull::from(Box::leak(Box::new([0u64; 4096 / WORD])));
        PAGES.lock().unwrap().push(page.addr().get());
        VmClock {
            page: page.cast(),
            count_at: if counts_generations {
                GENERATION_AT
            } else {
                MARKER_AT
            },
        }
    }

    #[test]
    fn the_count_is_the_words_of_its_place_plus_one() {
        for (counts_generations, at) in [(true, 104), (false, 16)] {
            let clock = imitation(counts_generations);
            assert_eq!(clock.generation(), 1);
            clock.word64(at).store(7, Ordering::Relaxed);
            assert_eq!(clock.generation(), 8);
            // SAFETY: the page stays.
            assert_eq!(unsafe { (*clock.place()).load(Ordering::Relaxed) }, 7);
            assert_eq!(clock.counts_generations(), counts_generations);
        }
    }

    #[test]
    fn a_change_is_unsettled_under_its_generation_alone() {
        let seen = Seen::new();
        seen.note(5, 10);
        seen.note(5, 11);
        for generation in [0, 10, 11] {
            assert!(!seen.is_unsettled(generation), "nothing has changed");
        }
        seen.note(6, 12);
        seen.note(6, 13);
        for (generation, is_unsettled) in [(0, false), (11, false), (12, true), (13, false)] {
            assert_eq!(seen.is_unsettled(generation), is_unsettled, "{generation}");
        }
    }

    #[test]
    fn only_the_drivers_names_are_vmclocks() {
        let names = |path: &str| names_vmclock(path.as_bytes());
        assert!(names("../../devices/virtual/misc/vmclock0"));
        assert!(names(
            "../../devices/LNXSYSTM:00/AMZNC10C:00/misc/vmclock12"
        ));
        for path in [
            "",
            "vmclock",
            "misc/vmclock/0",
            "misc/vmclock0a",
            "misc/fuse",
            "xvmclock0",
        ] {
            assert!(!names(path), "{path}");
        }
    }

    #[test]
    fn a_device_is_what_its_link_says() {
        let behind = |target: &str| identity_behind(Some(target.as_bytes()));
        assert_eq!(behind("../../misc/vmclock0"), Identity::VmClock);
        assert_eq!(behind("../../misc/fuse"), Identity::Other);
        assert_eq!(identity_behind(None), Identity::Unknown);
    }

    #[test]
    fn other_files_are_none() {
        let everywhere = [c"/dev/zero", c"/dev/null", c"/proc/self/exe", c"/dev"];
        let misc = [
            c"/dev/fuse",
            c"/dev/net/tun",
            c"/dev/kvm",
            c"/dev/loop-control",
        ];
        for path in everywhere {
            let file = File::open(path, 0).expect("every system has it");
            assert_eq!(identify(&file), Identity::Other, "{path:?}");
        }
        for path in misc {
            let identity = File::open(path, libc::O_PATH).map(|file| identify(&file));
            assert_ne!(identity, Ok(Identity::VmClock), "{path:?}");
        }
    }
}
