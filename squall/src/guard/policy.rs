//! Which protections this machine provides, decided once per process.
//!
//! Deciding takes no lock and no allocator, so that it may happen in a signal handler or in
//! several threads at once: each decides for itself, and the first to publish wins.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::clone_signal::{self, CloneSignal, Kind};
use super::memory::{self, MemoryKind};
use super::page::Page;
use super::vdso::{self, Vdso, Watch};
use super::{Epoch, fork, freshness, misc_device, vmgenid};
use crate::failpoint::{self, Failpoint};

/// The protections of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub vdso: Option<Vdso>,
    /// What changes before a restored VM runs again, if anything does.
    pub signal: Option<CloneSignal>,
    /// A hypervisor announces itself, or one of its devices is present.
    pub is_vm: bool,
    /// The kernel's vmgenid driver is bound: a VM clone moves the kernel's generation.
    pub has_vmgenid: bool,
    /// The signal has not been looked for yet.
    is_provisional: bool,
}

impl Policy {
    /// The policy of this process.
    ///
    /// The first answer is provisional where it can be: the process's first request is served as if
    /// there were no signal. Opening a device takes longer than that, and many processes draw only
    /// once.
    pub fn get() -> Policy {
        static STATE: AtomicU8 = AtomicU8::new(UNASKED);
        static DECIDED: Slot = Slot(UnsafeCell::new(MaybeUninit::uninit()));
        let state = STATE.load(Ordering::Acquire);
        if state == PUBLISHED {
            // SAFETY: a published policy was written, and is never written again.
            return unsafe { (*DECIDED.0.get()).assume_init() };
        }
        let advance = |from, to| {
            STATE
                .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        // A child forked while its parent was publishing keeps the provisional policy.
        if state == BEING_PUBLISHED {
            return Self::provisional();
        }
        if state == UNASKED && advance(UNASKED, UNDECIDED) {
            let first = Self::provisional();
            if !first.is_vm || first.has_vmgenid {
                return first;
            }
        }
        let policy = Self::decide();
        // Another thread was first, and may have found a device that this one could not open.
        if !advance(UNDECIDED, BEING_PUBLISHED) {
            return Self::provisional();
        }
        if let Some(signal) = policy.signal {
            clone_signal::note(signal.value(), freshness::mapped_generation());
            freshness::read_signal_at(signal.place());
        }
        // SAFETY: nobody else writes, and nobody reads before the state says so.
        unsafe { (*DECIDED.0.get()).write(policy) };
        STATE.store(PUBLISHED, Ordering::Release);
        policy
    }

    fn provisional() -> Policy {
        let has_vmgenid = has_vmgenid();
        Policy {
            vdso: Vdso::find(),
            signal: None,
            is_vm: has_vmgenid || is_announced() || failpoint::is_off(Failpoint::BareMetal),
            has_vmgenid,
            is_provisional: true,
        }
    }

    fn decide() -> Policy {
        let provisional = Self::provisional();
        let signal = CloneSignal::open();
        Policy {
            signal,
            is_vm: provisional.is_vm || signal.is_some() || misc_device::is_unidentified(),
            is_provisional: false,
            ..provisional
        }
    }

    /// Whether a clone of this VM would be noticed, or this is no VM.
    pub fn sees_clones(&self) -> bool {
        !self.is_provisional && self.has_clone_signal()
    }

    /// Whether this VM has a signal of clones that the program relies on, or this is no VM and the
    /// program relies on that.
    pub fn has_clone_signal(&self) -> bool {
        let has = || !self.is_vm || self.is_notified_in_time();
        !DISTRUSTED.load(Ordering::Relaxed)
            && (has() || (self.has_vmgenid && self.sees_generation()))
    }

    /// Whether something changes before a clone of this VM runs.
    pub fn is_notified_in_time(&self) -> bool {
        self.signal.is_some_and(CloneSignal::is_relied_on)
    }

    /// What changes before a restored VM runs again.
    pub fn signal_kind(&self) -> Option<Kind> {
        self.signal.map(CloneSignal::kind)
    }

    /// Whether this machine may have been cloned between two epochs. Without a signal that comes in
    /// time, any new kernel generation may mean a clone. With one, so may the first look at it: its
    /// earlier value is unknown.
    pub fn may_be_clone(&self, before: Epoch, now: Epoch) -> bool {
        before.vm != now.vm
            || (self.is_vm && !self.is_notified_in_time() && before.kernel != now.kernel)
    }

    /// Whether this is the policy of a first request, which must be answered soon.
    pub fn is_provisional(&self) -> bool {
        self.is_provisional
    }

    /// Whether a kernel reseed would be noticed.
    pub fn sees_generation(&self) -> bool {
        matches!(vdso::watch(), Watch::Mapped | Watch::Probe)
    }

    /// Whether comparing the freshness tag tells everything that a comparison can.
    pub fn tag_suffices(&self) -> bool {
        vdso::watch() == Watch::Mapped
            && memory::kind() != MemoryKind::Plain
            && !self.is_provisional
    }

    /// Whether this machine may have been cloned without anything having told yet, under the kernel's
    /// `current` generation: nothing ever tells, or the kernel is told late, or the signal has told
    /// and the kernel may not have been. Requests must differ by themselves then.
    pub fn may_be_cloned_unseen(&self, current: u64) -> bool {
        let may_be = !self.sees_clones()
            || self.has_delayed_notification()
            || clone_signal::is_unsettled(current);
        may_be && !failpoint::is_off(Failpoint::UnseenClones)
    }

    /// Whether a clone may run for a while before the kernel knows of it: vmgenid is handled like
    /// any other interrupt.
    pub fn has_delayed_notification(&self) -> bool {
        self.is_vm && self.has_vmgenid && !self.is_notified_in_time()
    }

    /// The epoch now; `None` if the vDSO does not answer.
    pub fn epoch(&self, page: Page) -> Option<Epoch> {
        let kernel = match (vdso::watch(), self.vdso) {
            (Watch::Mapped, _) => freshness::mapped_generation(),
            (Watch::Probe, Some(vdso)) => page.getrandom(vdso, &mut [0])?,
            _ => Epoch::NO_GENERATION,
        };
        Some(Epoch {
            kernel,
            ..self.epoch_without_kernel()
        })
    }

    /// The epoch now, without the kernel's generation.
    pub fn epoch_without_kernel(&self) -> Epoch {
        let vm = self.signal.map_or(0, CloneSignal::value);
        let process = match memory::kind() {
            MemoryKind::Plain => fork::process(),
            _ => 0,
        };
        Epoch {
            kernel: Epoch::NO_GENERATION,
            vm,
            process,
        }
    }
}

/// Set once the program no longer relies on the machine's signals of clones.
static DISTRUSTED: AtomicBool = AtomicBool::new(false);

/// Stops relying on the machine's signals of clones.
pub(crate) fn distrust_clone_signals() {
    DISTRUSTED.store(true, Ordering::Relaxed);
}

const UNASKED: u8 = 0;
const UNDECIDED: u8 = 1;
const BEING_PUBLISHED: u8 = 2;
const PUBLISHED: u8 = 3;

struct Slot(UnsafeCell<MaybeUninit<Policy>>);

// SAFETY: `Policy::get` lets one thread write, once, before any reads.
unsafe impl Sync for Slot {}

/// Whether the kernel's vmgenid driver has a device.
fn has_vmgenid() -> bool {
    !failpoint::is_off(Failpoint::Vmgenid) && vmgenid::is_bound()
}

/// Whether a hypervisor announces itself (CPUID.1:ECX[31]), which is optional. Assumed where there
/// is no CPUID.
fn is_announced() -> bool {
    if failpoint::is_off(Failpoint::Announcement) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    return crate::cpuid::has(crate::cpuid::Features::HYPERVISOR);
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

#[cfg(test)]
mod tests {
    use super::super::clone_signal::Kind::{DisruptionMarker, VmClock, VmgenidPage};
    use super::super::clone_signal::tests::imitation;
    use super::*;

    /// A machine that is no VM.
    const BARE: Policy = Policy {
        vdso: None,
        signal: None,
        is_vm: false,
        has_vmgenid: false,
        is_provisional: false,
    };
    const VM: Policy = Policy {
        is_vm: true,
        ..BARE
    };
    const VMGENID: Policy = Policy {
        has_vmgenid: true,
        ..VM
    };

    fn with_signal(vm: Policy, kind: Kind) -> Policy {
        Policy {
            signal: Some(imitation(kind)),
            ..vm
        }
    }

    /// Whether this machine shows the kernel's generation: vmgenid is no signal without it.
    fn sees_generation() -> bool {
        crate::fill(&mut [0; 16]);
        BARE.sees_generation()
    }

    #[test]
    fn the_vmgenid_is_the_machines() {
        let policy = Policy::provisional();
        assert_eq!(policy.has_vmgenid, vmgenid::is_bound());
        assert!(policy.is_vm || !policy.has_vmgenid);
    }

    #[test]
    fn clones_are_seen_where_there_are_none_or_something_tells() {
        let sees_generation = sees_generation();
        for (policy, sees_clones) in [
            (BARE, true),
            (VM, false),
            (VMGENID, sees_generation),
            (with_signal(VM, VmClock), true),
            (with_signal(VM, DisruptionMarker), false),
            (with_signal(VMGENID, VmClock), true),
            (with_signal(VM, VmgenidPage), true),
            (with_signal(VMGENID, VmgenidPage), true),
            (with_signal(VMGENID, DisruptionMarker), sees_generation),
        ] {
            assert_eq!(policy.has_clone_signal(), sees_clones, "{policy:?}");
            assert_eq!(policy.sees_clones(), sees_clones, "{policy:?}");
            let provisional = Policy {
                is_provisional: true,
                ..policy
            };
            assert_eq!(provisional.has_clone_signal(), sees_clones, "{policy:?}");
            assert!(!provisional.sees_clones(), "{policy:?}");
        }
    }

    #[test]
    fn clones_are_unseen_without_a_signal_that_comes_in_time() {
        for (policy, expected) in [
            (BARE, false),
            (VM, true),
            (VMGENID, true),
            (with_signal(VM, VmClock), false),
            (with_signal(VM, DisruptionMarker), true),
            (with_signal(VMGENID, VmClock), false),
            (with_signal(VM, VmgenidPage), false),
            (with_signal(VMGENID, VmgenidPage), false),
            (with_signal(VMGENID, DisruptionMarker), true),
        ] {
            // No kernel reaches this generation, so no clone is unsettled under it.
            assert_eq!(policy.may_be_cloned_unseen(1 << 50), expected, "{policy:?}");
            let provisional = Policy {
                is_provisional: true,
                ..policy
            };
            assert!(provisional.may_be_cloned_unseen(1 << 50), "{policy:?}");
        }
    }

    #[test]
    fn vmgenid_alone_is_late() {
        for (policy, has_delayed_notification) in [
            (BARE, false),
            (VM, false),
            (VMGENID, true),
            (with_signal(VM, VmClock), false),
            (with_signal(VM, DisruptionMarker), false),
            (with_signal(VMGENID, VmClock), false),
            (with_signal(VM, VmgenidPage), false),
            (with_signal(VMGENID, VmgenidPage), false),
            (with_signal(VMGENID, DisruptionMarker), true),
        ] {
            assert_eq!(
                policy.has_delayed_notification(),
                has_delayed_notification,
                "{policy:?}"
            );
        }
    }

    #[test]
    fn a_clone_may_be_behind_a_new_count_or_generation() {
        let epoch = |kernel, vm| Epoch {
            kernel,
            vm,
            process: 0,
        };
        let before = epoch(5, 7);
        // After the same epoch, a new generation, and a new count.
        for (policy, expected) in [
            (BARE, [false, false, true]),
            (VM, [false, true, true]),
            (VMGENID, [false, true, true]),
            (with_signal(VM, VmClock), [false, false, true]),
            (with_signal(VMGENID, VmgenidPage), [false, false, true]),
            (with_signal(VM, DisruptionMarker), [false, true, true]),
        ] {
            let may_be =
                [epoch(5, 7), epoch(6, 7), epoch(5, 8)].map(|now| policy.may_be_clone(before, now));
            assert_eq!(may_be, expected, "{policy:?}");
        }
    }
}
