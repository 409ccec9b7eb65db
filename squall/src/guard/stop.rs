//! Whether the machine may have been stopped between two readings of the cycle counter.
//!
//! To be cloned, a virtual CPU must leave the guest, be saved, be restored and enter again; and the
//! guest's counter goes on from the value that was saved *after* it had left. So a stop cannot hide
//! between two readings on one CPU that are fewer than [`GAP`] cycles apart. docs/CLONES.md has the
//! argument, the hypervisors' sources, and what was measured.
//!
//! It is relied on only on KVM ([`Counter::find`]), whose code is known: others may hide from the guest
//! how long it was stopped.

#[cfg(feature = "testing")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::failpoint::{self, Failpoint};

/// Cycles in which the machine cannot have been stopped: less than KVM takes to leave the guest, to
/// return to the monitor, and to enter again, with a counter of 1 GHz or more.
const GAP: u64 = 1000;

#[cfg(feature = "testing")]
static GAP_FOR_TESTING: AtomicU64 = AtomicU64::new(GAP);

/// Sets the gap, in cycles: an emulated CPU takes more of them for a request.
#[cfg(feature = "testing")]
pub fn set_gap(cycles: u64) {
    GAP_FOR_TESTING.store(cycles, Ordering::Relaxed);
}

#[inline(always)]
fn gap() -> u64 {
    #[cfg(feature = "testing")]
    return GAP_FOR_TESTING.load(Ordering::Relaxed);
    #[cfg(not(feature = "testing"))]
    GAP
}

/// How the cycle counter is read together with the number of its CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Counter {
    /// Not at all: it may hide stops, or the CPU cannot be identified.
    #[default]
    None,
    /// RDTSC, with RDPID before and after: half the time of RDTSCP.
    #[cfg(target_arch = "x86_64")]
    Rdpid,
    /// RDTSCP, which gives both at once.
    #[cfg(target_arch = "x86_64")]
    Rdtscp,
}

/// What [`Counter::find`] has found, plus one; 0 before it was asked.
static FOUND: AtomicU8 = AtomicU8::new(0);

impl Counter {
    const ALL: &[Counter] = &[
        Counter::None,
        #[cfg(target_arch = "x86_64")]
        Counter::Rdpid,
        #[cfg(target_arch = "x86_64")]
        Counter::Rdtscp,
    ];

    /// The way to read it if the hypervisor is one whose stops show in it: KVM. The first call takes
    /// some CPUIDs, each of which is a trap in a VM.
    pub fn find() -> Counter {
        if FOUND.load(Ordering::Relaxed) == 0 {
            let found = if Self::is_kvm() {
                Self::by_instructions()
            } else {
                Counter::None
            };
            FOUND.store(found as u8 + 1, Ordering::Relaxed);
        }
        Self::if_found()
    }

    /// The same if it was found before, else `None`.
    pub fn if_found() -> Counter {
        let found = FOUND.load(Ordering::Relaxed);
        let is_found = |counter: &&Counter| **counter as u8 + 1 == found;
        Self::ALL.iter().find(is_found).copied().unwrap_or_default()
    }

    fn is_kvm() -> bool {
        if failpoint::is_off(Failpoint::NoKvm) {
            return true;
        }
        #[cfg(target_arch = "x86_64")]
        return !failpoint::is_off(Failpoint::Kvm) && crate::cpuid::is_kvm();
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    fn by_instructions() -> Counter {
        #[cfg(target_arch = "x86_64")]
        {
            use crate::cpuid::{Features, has, has_rdtscp};
            if has(Features::RDPID) && !failpoint::is_off(Failpoint::Rdpid) {
                return Counter::Rdpid;
            }
            if has_rdtscp() {
                return Counter::Rdtscp;
            }
        }
        Counter::None
    }
}

/// The cycle counter, and the CPU it was read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub count: u64,
    /// The CPU's number plus one, or [`Reading::NO_CPU`].
    pub cpu: u32,
}

impl Reading {
    /// The thread moved meanwhile, or the counter is not read.
    pub const NO_CPU: u32 = 0;

    /// Reads the counter, behind everything that the program has read before.
    ///
    /// Program order suffices for that. A virtual CPU leaves the guest between two instructions; when
    /// it comes back, it executes the second one and all behind it, even if it had begun to before.
    #[inline(always)]
    pub fn now(counter: Counter) -> Reading {
        #[cfg(target_arch = "x86_64")]
        if counter == Counter::Rdpid {
            return Self::by_rdpid();
        }
        Self::by_other_means(counter)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn by_rdpid() -> Reading {
        let (before, after, low, high): (u64, u64, u64, u64);
        // SAFETY: the CPU has RDPID, because the counter was chosen so. Not `pure`: it stays in its
        // place.
        unsafe {
            core::arch::asm!(
                "rdpid {before}", "rdtsc", "rdpid {after}",
                before = out(reg) before,
                after = out(reg) after,
                out("rax") low,
                out("rdx") high,
                options(nostack, preserves_flags),
            );
        }
        let has_moved = before != after;
        Reading {
            count: high << 32 | low,
            cpu: if has_moved {
                Self::NO_CPU
            } else {
                (after as u32).wrapping_add(1)
            },
        }
    }

    #[inline(never)]
    fn by_other_means(counter: Counter) -> Reading {
        #[cfg(target_arch = "x86_64")]
        if counter == Counter::Rdtscp {
            let mut cpu = 0;
            // SAFETY: the CPU has RDTSCP, because the counter was chosen so.
            let count = unsafe { core::arch::x86_64::__rdtscp(&mut cpu) };
            return Reading {
                count,
                cpu: cpu.wrapping_add(1),
            };
        }
        let _ = counter;
        Reading {
            count: 0,
            cpu: Self::NO_CPU,
        }
    }

    /// Whether the machine was not stopped since `earlier`.
    #[inline(always)]
    pub fn follows(self, earlier: Reading) -> bool {
        // A counter that stands still shows nothing, so 0 becomes the largest number of cycles.
        let is_soon = self.count.wrapping_sub(earlier.count).wrapping_sub(1) < gap() - 1;
        let is_same_cpu = self.cpu == earlier.cpu && self.cpu != Self::NO_CPU;
        (is_soon && is_same_cpu)
            || (failpoint::is_off(Failpoint::Stops) && self.cpu != Self::NO_CPU)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Reading = Reading {
        count: 5000,
        cpu: 3,
    };

    #[test]
    fn only_a_short_gap_on_one_cpu_proves_that_nothing_stopped() {
        for (count, cpu, expected) in [
            (5000, 3, false),
            (5001, 3, true),
            (5000 + GAP - 1, 3, true),
            (5000 + GAP, 3, false),
            (4999, 3, false),
            (0, 3, false),
            (5001, 2, false),
            (5001, Reading::NO_CPU, false),
        ] {
            let now = Reading { count, cpu };
            assert_eq!(now.follows(FIRST), expected, "{now:?}");
        }
        let nowhere = Reading {
            cpu: Reading::NO_CPU,
            ..FIRST
        };
        assert!(!nowhere.follows(nowhere));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_way_to_read_gives_the_same_counter() {
        let counters = [Counter::by_instructions(), Counter::None];
        if counters[0] == Counter::None {
            return;
        }
        // The thread may move meanwhile, but not each time.
        let is_in_order = |_| {
            let first = Reading::now(counters[0]);
            let second = Reading::by_other_means(Counter::Rdtscp);
            let third = Reading::now(counters[0]);
            first.cpu == third.cpu
                && second.cpu == first.cpu
                && (first.count..=third.count).contains(&second.count)
        };
        assert!((0..1000).any(is_in_order));
        assert_eq!(Reading::now(Counter::None).cpu, Reading::NO_CPU);
    }
}
