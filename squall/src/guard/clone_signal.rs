//! The signal of clones: a value in this VM's memory that changes before a restored VM runs again,
//! vmclock's count or vmgenid's identifier.
//!
//! The value is a signal, never entropy: sibling clones may see the same new value.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::memory;
use super::signal_address::{SignalAddress, fold};

/// The kinds of signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// vmclock's VM generation counter.
    VmClock,
    /// vmclock's disruption marker: an additional signal, which is checked but never relied on.
    /// Hypervisors change it with a restore, but the device's specification does not require that.
    DisruptionMarker,
    /// vmgenid's identifier, in the page that squall's kernel module shows.
    VmgenidPage,
}

/// A mapped page with the signal in it. The page is read-only, and stays mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloneSignal {
    kind: Kind,
    page: NonNull<u8>,
    /// Offset of the signal in the page, in bytes.
    at: usize,
}

impl CloneSignal {
    /// The signal of this kind, at this offset of a mapped page.
    pub fn new(kind: Kind, page: NonNull<u8>, at: usize) -> CloneSignal {
        CloneSignal { kind, page, at }
    }

    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Unmaps the page of a signal that is not going to be used.
    pub fn unmap(self) {
        memory::unmap(self.page);
    }

    /// Whether every restore of this VM changes the signal.
    pub fn is_relied_on(self) -> bool {
        self.kind != Kind::DisruptionMarker
    }

    /// The signal's value plus one: 0 stands for no signal.
    ///
    /// Its words are aligned and change while the VM is stopped, so none is ever seen half-changed.
    /// vmclock's sequence count, which guards the clock's other fields, is not needed.
    #[inline]
    pub fn value(self) -> u64 {
        // SAFETY: a `CloneSignal`'s page stays mapped.
        let words = unsafe { self.address().read() };
        fold(words).wrapping_add(1)
    }

    /// The address of the signal, to be read on each request.
    pub fn address(self) -> SignalAddress {
        SignalAddress {
            // SAFETY: `at` is within the page.
            first: unsafe { self.page.add(self.at) }.cast().as_ptr(),
            to_last: match self.kind {
                Kind::VmgenidPage => size_of::<u64>() as u16,
                Kind::VmClock | Kind::DisruptionMarker => 0,
            },
        }
    }
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
    pub(in crate::guard) fn imitation(kind: Kind) -> CloneSignal {
        /// Addresses of pages that are never freed, so that AddressSanitizer sees no leak.
        static PAGES: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
        let page = NonNull::from(Box::leak(Box::new([0u64; 4096 / WORD])));
        PAGES.lock().unwrap().push(page.addr().get());
        CloneSignal::new(kind, page.cast(), 104)
    }

    fn set(signal: CloneSignal, at: usize, word: u64) {
        // SAFETY: the imitation's page is writable and stays.
        unsafe {
            (*signal.page.as_ptr().add(at).cast::<AtomicU64>()).store(word, Ordering::Relaxed)
        };
    }

    #[test]
    fn a_count_is_one_word() {
        for kind in [Kind::VmClock, Kind::DisruptionMarker] {
            let signal = imitation(kind);
            let before = signal.value();
            assert_ne!(before, 0);
            for at in [96, 112] {
                set(signal, at, 7);
                assert_eq!(signal.value(), before, "the neighbour at {at}");
            }
            set(signal, 104, 7);
            assert_ne!(signal.value(), before);
            assert_eq!(signal.is_relied_on(), kind == Kind::VmClock);
        }
    }

    #[test]
    fn an_identifier_is_two_words() {
        let signal = imitation(Kind::VmgenidPage);
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
