//! Tells whether the machine may have been stopped between two readings of the cycle counter.
//!
//! To be cloned, a virtual CPU must leave the guest, be saved, be restored and enter again; and the
//! guest's counter goes on from the value that was saved *after* it had left. So a stop cannot hide
//! between two readings on one CPU that are fewer than [`GAP`] cycles apart. docs/CLONES.md has the
//! argument, the hypervisors' sources, and what was measured.
//!
//! This is relied on only under KVM ([`CounterMethod::find`]), whose code is known: other hypervisors may
//! hide from the guest how long it was stopped.

#[cfg(feature = "testing")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::cycle_counter;
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
pub(crate) enum CounterMethod {
    /// The counter is not read: it may hide stops, or no instruction tells the CPU's number.
    #[default]
    None,
    /// RDTSC, with RDPID before and after: half the time of RDTSCP.
    #[cfg(target_arch = "x86_64")]
    Rdpid,
    /// RDTSCP, which gives both at once.
    #[cfg(target_arch = "x86_64")]
    Rdtscp,
}

/// What [`CounterMethod::find`] has found, plus one; 0 before it was asked.
static FOUND: AtomicU8 = AtomicU8::new(0);

impl CounterMethod {
    const ALL: &[CounterMethod] = &[
        CounterMethod::None,
        #[cfg(target_arch = "x86_64")]
        CounterMethod::Rdpid,
        #[cfg(target_arch = "x86_64")]
        CounterMethod::Rdtscp,
    ];

    /// The way to read the counter, if the hypervisor is KVM, whose stops show in it. The first call
    /// executes some CPUIDs, each of which is a trap in a VM.
    pub fn find() -> CounterMethod {
        if FOUND.load(Ordering::Relaxed) == 0 {
            let found = if cycle_counter::may_be_read() && Self::is_kvm() {
                Self::best_of_this_cpu()
            } else {
                CounterMethod::None
            };
            // Another thread may have decided, or the counter may be avoided from now on.
            let _ =
                FOUND.compare_exchange(0, found as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
        }
        Self::already_found()
    }

    /// The result of an earlier [`find`](Self::find), else `None`.
    pub fn already_found() -> CounterMethod {
        let found = FOUND.load(Ordering::Relaxed);
        let is_found = |counter: &&CounterMethod| **counter as u8 + 1 == found;
        Self::ALL.iter().find(is_found).copied().unwrap_or_default()
    }

    /// From now on no thread reads the counter, except those that have decided on a method before.
    pub fn avoid() {
        FOUND.store(CounterMethod::None as u8 + 1, Ordering::Relaxed);
    }

    fn is_kvm() -> bool {
        if failpoint::is_active(Failpoint::PretendKvm) {
            return true;
        }
        #[cfg(target_arch = "x86_64")]
        return !failpoint::is_active(Failpoint::HideKvm) && crate::cpuid::is_kvm();
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    fn best_of_this_cpu() -> CounterMethod {
        #[cfg(target_arch = "x86_64")]
        {
            use crate::cpuid::{Features, has, has_rdtscp};
            if has(Features::RDPID) && !failpoint::is_active(Failpoint::HideRdpid) {
                return CounterMethod::Rdpid;
            }
            if has_rdtscp() {
                return CounterMethod::Rdtscp;
            }
        }
        CounterMethod::None
    }
}

/// A reading of the cycle counter, and the CPU on which it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub count: u64,
    /// The CPU's number plus one, or [`Reading::NO_CPU`].
    pub cpu: u32,
}

impl Reading {
    /// Stands for the CPU if the thread moved while reading, or if the counter is not read.
    pub const NO_CPU: u32 = 0;

    /// Reads the counter after everything that the program has read before.
    ///
    /// Program order suffices for that. A virtual CPU leaves the guest between two instructions; when
    /// it comes back, it executes the second one and all that follow, even those that it had begun before.
    #[inline(always)]
    pub fn now(counter: CounterMethod) -> Reading {
        #[cfg(target_arch = "x86_64")]
        if counter == CounterMethod::Rdpid {
            return Self::read_with_rdpid();
        }
        Self::read_without_rdpid(counter)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn read_with_rdpid() -> Reading {
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
        Self::between(before, high << 32 | low, after)
    }

    /// A reading of the counter between two of the CPU's number.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn between(before: u64, count: u64, after: u64) -> Reading {
        let has_moved = before != after;
        Reading {
            count,
            cpu: if has_moved {
                Self::NO_CPU
            } else {
                (after as u32).wrapping_add(1)
            },
        }
    }

    #[inline(never)]
    fn read_without_rdpid(counter: CounterMethod) -> Reading {
        #[cfg(target_arch = "x86_64")]
        if counter == CounterMethod::Rdtscp {
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

    /// Whether the machine cannot have been stopped since `earlier`.
    #[inline(always)]
    pub fn proves_no_stop_since(self, earlier: Reading) -> bool {
        // A counter that stands still shows nothing, so 0 becomes the largest number of cycles.
        let is_soon = self.count.wrapping_sub(earlier.count).wrapping_sub(1) < gap() - 1;
        let is_same_cpu = self.cpu == earlier.cpu && self.cpu != Self::NO_CPU;
        (is_soon && is_same_cpu)
            || (failpoint::is_active(Failpoint::IgnoreStops) && self.cpu != Self::NO_CPU)
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
            assert_eq!(now.proves_no_stop_since(FIRST), expected, "{now:?}");
        }
        let without_cpu = Reading {
            cpu: Reading::NO_CPU,
            ..FIRST
        };
        assert!(!without_cpu.proves_no_stop_since(without_cpu));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_reading_during_which_the_thread_moved_has_no_cpu() {
        for (before, after, cpu) in [
            (0, 0, 1),
            (7, 7, 8),
            (7, 8, Reading::NO_CPU),
            (8, 7, Reading::NO_CPU),
        ] {
            let reading = Reading::between(before, 5, after);
            assert_eq!(reading, Reading { count: 5, cpu }, "{before}, {after}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_way_to_read_gives_the_same_counter() {
        if !crate::cpuid::has_rdtscp() {
            return;
        }
        let best = CounterMethod::best_of_this_cpu();
        // The thread may move meanwhile, but not each time.
        let is_in_order = |_| {
            let first = Reading::now(best);
            let second = Reading::read_without_rdpid(CounterMethod::Rdtscp);
            let third = Reading::now(best);
            first.cpu == third.cpu
                && second.cpu == first.cpu
                && (first.count..=third.count).contains(&second.count)
        };
        assert!((0..1000).any(is_in_order));
        assert_eq!(Reading::now(CounterMethod::None).cpu, Reading::NO_CPU);
    }
}
