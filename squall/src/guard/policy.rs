//! Decides, once per process, which protections this machine provides.
//!
//! Deciding takes no lock and no allocator, so that it may happen in a signal handler or in
//! several threads at once: each decides for itself, and the first to publish wins.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::clone_signal::{self, CloneGuard, CloneSignal};
use super::memory::{self, MemoryKind};
use super::page::Page;
use super::vdso::{self, Vdso, Watch};
use super::{Epoch, fork, freshness, vmgenid};
use crate::failpoint::{self, Failpoint};

/// The protections of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub vdso: Option<Vdso>,
    /// The signal of clones, if there is one.
    pub signal: Option<CloneSignal>,
    /// A hypervisor announces itself, or one of its devices is present.
    pub is_vm: bool,
    /// The kernel's vmgenid driver is bound: a clone changes the kernel's generation.
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
        static STATE: AtomicU8 = AtomicU8::new(NO_REQUEST_YET);
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
        if state == NO_REQUEST_YET && advance(NO_REQUEST_YET, UNDECIDED) {
            let first = Self::provisional();
            if !first.is_vm || first.has_vmgenid {
                return first;
            }
        }
        let policy = Self::decide();
        // Another thread came first, and may have found a device that this one could not open.
        if !advance(UNDECIDED, BEING_PUBLISHED) {
            return Self::provisional();
        }
        if let Some(signal) = policy.signal {
            clone_signal::record(signal.value(), freshness::mapped_generation());
            freshness::set_signal_address(signal.address());
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
            is_vm: has_vmgenid
                || has_hypervisor_announcement()
                || failpoint::is_active(Failpoint::PretendVm),
            has_vmgenid,
            is_provisional: true,
        }
    }

    fn decide() -> Policy {
        let provisional = Self::provisional();
        let signal = CloneSignal::find();
        Policy {
            signal,
            is_vm: provisional.is_vm || signal.is_some() || clone_signal::is_unidentified(),
            is_provisional: false,
            ..provisional
        }
    }

    /// Whether a clone of this VM would be noticed, or this is no VM.
    pub fn notices_clones(&self) -> bool {
        !self.is_provisional && self.has_clone_signal()
    }

    /// Whether this VM has a signal of clones, or this is no VM; false if the program does not rely on
    /// signals.
    pub fn has_clone_signal(&self) -> bool {
        let has_immediate_or_needs_none = || !self.is_vm || self.has_immediate_signal();
        !DISTRUSTED.load(Ordering::Relaxed)
            && (has_immediate_or_needs_none() || (self.has_vmgenid && self.can_see_generation()))
    }

    /// Whether a signal changes before a clone of this VM runs.
    pub fn has_immediate_signal(&self) -> bool {
        self.signal.is_some_and(|signal| signal.is_relied_on())
    }

    /// What keeps a clone of this VM from repeating its sibling.
    pub fn clone_guard(&self) -> CloneGuard {
        match self.signal.and_then(|signal| signal.guard) {
            _ if !self.notices_clones() => CloneGuard::NoSignal,
            Some(guard) => guard,
            None if self.is_vm => CloneGuard::Vmgenid,
            None => CloneGuard::NotAVm,
        }
    }

    /// Whether this machine may have been cloned between two epochs. Without an immediate signal, any
    /// new kernel generation may mean a clone. With one, its first reading may mean a clone too, because
    /// the earlier value is unknown.
    pub fn may_be_clone(&self, before: Epoch, now: Epoch) -> bool {
        before.vm != now.vm
            || (self.is_vm && !self.has_immediate_signal() && before.kernel != now.kernel)
    }

    /// Whether this is the policy of a first request, which was made without looking for signals.
    pub fn is_provisional(&self) -> bool {
        self.is_provisional
    }

    /// Whether a kernel reseed would be noticed.
    pub fn can_see_generation(&self) -> bool {
        watch() != Watch::Nothing
    }

    /// Whether comparing the freshness tag is all that a request has to compare.
    pub fn tag_suffices(&self) -> bool {
        watch() == Watch::Mapped && memory::kind() != MemoryKind::Plain && !self.is_provisional
    }

    /// Whether this may be a clone that has not been notified of it, under the kernel's `current`
    /// generation: there is no signal, or the kernel is notified late, or the signal has changed but the
    /// kernel may not have reseeded yet. Requests must then be made different in each clone.
    pub fn may_be_unnotified_clone(&self, current: u64) -> bool {
        let may_be = !self.notices_clones()
            || self.has_delayed_notification()
            || clone_signal::is_reseed_pending(current);
        may_be && !failpoint::is_active(Failpoint::SkipUnnotifiedCloneGuard)
    }

    /// Whether a clone may run for a while before its kernel is notified: vmgenid's interrupt is handled
    /// like any other.
    pub fn has_delayed_notification(&self) -> bool {
        self.is_vm && self.has_vmgenid && !self.has_immediate_signal()
    }

    /// The epoch now; `None` if the vDSO does not answer.
    pub fn epoch(&self, page: Page) -> Option<Epoch> {
        let kernel = match (watch(), self.vdso) {
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

/// How the kernel's generation is followed. In memory that a fork copies, the vDSO cannot be asked.
pub(crate) fn watch() -> Watch {
    match vdso::watch() {
        Watch::Probe if memory::kind() == MemoryKind::Plain => Watch::Nothing,
        watch => watch,
    }
}

/// Set if the program does not rely on the machine's signals of clones.
static DISTRUSTED: AtomicBool = AtomicBool::new(false);

/// Stops relying on the machine's signals of clones.
pub(crate) fn distrust_clone_signals() {
    DISTRUSTED.store(true, Ordering::Relaxed);
}

const NO_REQUEST_YET: u8 = 0;
const UNDECIDED: u8 = 1;
const BEING_PUBLISHED: u8 = 2;
const PUBLISHED: u8 = 3;

struct Slot(UnsafeCell<MaybeUninit<Policy>>);

// SAFETY: `Policy::get` lets one thread write, once, before any reads.
unsafe impl Sync for Slot {}

/// Whether the kernel's vmgenid driver has a device.
fn has_vmgenid() -> bool {
    !failpoint::is_active(Failpoint::HideVmgenid) && vmgenid::is_bound()
}

/// Whether a hypervisor announces itself (CPUID.1:ECX[31]); it need not. On CPUs without CPUID one is
/// assumed.
fn has_hypervisor_announcement() -> bool {
    if failpoint::is_active(Failpoint::HideHypervisorAnnouncement) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    return crate::cpuid::has(crate::cpuid::Features::HYPERVISOR);
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

#[cfg(test)]
mod tests {
    use super::super::clone_signal::CloneGuard::{VmClock, VmgenidPage};
    use super::super::clone_signal::tests::imitation;
    use super::*;

    /// A machine that is no VM.
    const BARE_METAL: Policy = Policy {
        vdso: None,
        signal: None,
        is_vm: false,
        has_vmgenid: false,
        is_provisional: false,
    };
    const VM: Policy = Policy {
        is_vm: true,
        ..BARE_METAL
    };
    const VMGENID: Policy = Policy {
        has_vmgenid: true,
        ..VM
    };

    /// vmclock's disruption marker: no restore has to change it.
    const DISRUPTION_MARKER: Option<CloneGuard> = None;

    fn with_signal(vm: Policy, guard: impl Into<Option<CloneGuard>>) -> Policy {
        Policy {
            signal: Some(imitation(guard.into())),
            ..vm
        }
    }

    /// Whether this machine shows the kernel's generation, without which vmgenid is no signal.
    fn can_see_generation() -> bool {
        crate::fill(&mut [0; 16]);
        BARE_METAL.can_see_generation()
    }

    #[test]
    fn the_vmgenid_is_the_machines() {
        let policy = Policy::provisional();
        assert_eq!(policy.has_vmgenid, vmgenid::is_bound());
        assert!(policy.is_vm || !policy.has_vmgenid);
    }

    #[test]
    fn clones_are_noticed_where_there_are_none_or_a_signal() {
        let can_see_generation = can_see_generation();
        for (policy, notices_clones) in [
            (BARE_METAL, true),
            (VM, false),
            (VMGENID, can_see_generation),
            (with_signal(VM, VmClock), true),
            (with_signal(VM, DISRUPTION_MARKER), false),
            (with_signal(VMGENID, VmClock), true),
            (with_signal(VM, VmgenidPage), true),
            (with_signal(VMGENID, VmgenidPage), true),
            (with_signal(VMGENID, DISRUPTION_MARKER), can_see_generation),
        ] {
            assert_eq!(policy.has_clone_signal(), notices_clones, "{policy:?}");
            assert_eq!(policy.notices_clones(), notices_clones, "{policy:?}");
            let provisional = Policy {
                is_provisional: true,
                ..policy
            };
            assert_eq!(provisional.has_clone_signal(), notices_clones, "{policy:?}");
            assert!(!provisional.notices_clones(), "{policy:?}");
        }
    }

    #[test]
    fn a_clone_may_be_unnotified_without_an_immediate_signal() {
        for (policy, expected) in [
            (BARE_METAL, false),
            (VM, true),
            (VMGENID, true),
            (with_signal(VM, VmClock), false),
            (with_signal(VM, DISRUPTION_MARKER), true),
            (with_signal(VMGENID, VmClock), false),
            (with_signal(VM, VmgenidPage), false),
            (with_signal(VMGENID, VmgenidPage), false),
            (with_signal(VMGENID, DISRUPTION_MARKER), true),
        ] {
            // No kernel reaches this generation, so no clone is unsettled under it.
            assert_eq!(
                policy.may_be_unnotified_clone(1 << 50),
                expected,
                "{policy:?}"
            );
            let provisional = Policy {
                is_provisional: true,
                ..policy
            };
            assert!(provisional.may_be_unnotified_clone(1 << 50), "{policy:?}");
        }
    }

    #[test]
    fn vmgenid_alone_notifies_late() {
        for (policy, has_delayed_notification) in [
            (BARE_METAL, false),
            (VM, false),
            (VMGENID, true),
            (with_signal(VM, VmClock), false),
            (with_signal(VM, DISRUPTION_MARKER), false),
            (with_signal(VMGENID, VmClock), false),
            (with_signal(VM, VmgenidPage), false),
            (with_signal(VMGENID, VmgenidPage), false),
            (with_signal(VMGENID, DISRUPTION_MARKER), true),
        ] {
            assert_eq!(
                policy.has_delayed_notification(),
                has_delayed_notification,
                "{policy:?}"
            );
        }
    }

    #[test]
    fn a_new_count_or_generation_may_mean_a_clone() {
        let epoch = |kernel, vm| Epoch {
            kernel,
            vm,
            process: 0,
        };
        let before = epoch(5, 7);
        // After the same epoch, a new generation, and a new count.
        for (policy, expected) in [
            (BARE_METAL, [false, false, true]),
            (VM, [false, true, true]),
            (VMGENID, [false, true, true]),
            (with_signal(VM, VmClock), [false, false, true]),
            (with_signal(VMGENID, VmgenidPage), [false, false, true]),
            (with_signal(VM, DISRUPTION_MARKER), [false, true, true]),
        ] {
            let may_be =
                [epoch(5, 7), epoch(6, 7), epoch(5, 8)].map(|now| policy.may_be_clone(before, now));
            assert_eq!(may_be, expected, "{policy:?}");
        }
    }
}
