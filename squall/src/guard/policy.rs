//! Decides, once per process, which protections this machine provides.
//!
//! Deciding takes no lock and no allocator, so that it may happen in a signal handler or in
//! several threads at once: each decides for itself, and the first to publish wins.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::clone_signal::{self, CloneSignal};
use super::memory::{self, MemoryKind};
use super::page::Page;
use super::signal_address::SignalAddress;
use super::vdso::{self, Vdso, Watch};
use super::{Epoch, fork, freshness, kvm_clock, tick, vmgenid};
use crate::failpoint::{self, Failpoint};
use crate::signal::{CloneGuard, Signal};

/// The protections of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub vdso: Option<Vdso>,
    /// The signal of clones that was found.
    signal: Option<CloneSignal>,
    /// A hypervisor announces itself, or one of its devices is present.
    pub is_vm: bool,
    /// The signal has not been looked for yet.
    is_provisional: bool,
}

impl Policy {
    /// The policy of this process.
    ///
    /// The first answer is provisional: the process's first request is served as if there were no signal but
    /// kvm-clock's. Opening a device takes longer than that, and many processes draw only once.
    pub fn get() -> Policy {
        static STATE: AtomicU8 = AtomicU8::new(NO_REQUEST_YET);
        static DECIDED: Slot = Slot(UnsafeCell::new(MaybeUninit::uninit()));
        let state = STATE.load(Ordering::Acquire);
        if state == PUBLISHED {
            kvm_clock::settle();
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
        if advance(NO_REQUEST_YET, UNDECIDED) {
            let first = Self::provisional();
            if !first.is_vm || first.signal.is_some() || has_vmgenid() {
                return first;
            }
        }
        tick::follow();
        kvm_clock::settle();
        let policy = Self::decide();
        // Another thread came first, and may have found a device that this one could not open.
        if !advance(UNDECIDED, BEING_PUBLISHED) {
            return Self::provisional();
        }
        // SAFETY: nobody else writes, and nobody reads before the state says so.
        unsafe { (*DECIDED.0.get()).write(policy) };
        STATE.store(PUBLISHED, Ordering::Release);
        policy
    }

    /// The policy once it is known whether kvm-clock is a signal here, after some milliseconds.
    pub fn get_settled() -> Policy {
        /// More milliseconds than it takes, unless the machine's clocks are read by system calls.
        const MOST: usize = 1000;
        for _ in 0..MOST {
            let policy = Policy::get();
            if policy.is_provisional || !kvm_clock::is_undecided() {
                return policy;
            }
            std::thread::sleep(core::time::Duration::from_millis(1));
        }
        Policy::get()
    }

    fn provisional() -> Policy {
        Policy {
            vdso: Vdso::find(),
            signal: CloneSignal::of_kvm_clock(),
            is_vm: has_hypervisor_announcement()
                || failpoint::is_active(Failpoint::PretendVm)
                || has_vmgenid(),
            is_provisional: true,
        }
    }

    fn decide() -> Policy {
        let provisional = Self::provisional();
        let signal = provisional.signal.or_else(CloneSignal::find);
        Policy {
            signal,
            is_vm: provisional.is_vm || signal.is_some() || clone_signal::is_unidentified(),
            is_provisional: false,
            ..provisional
        }
    }

    /// The signal of clones, if there is one that has not been given up.
    pub fn signal(&self) -> Option<CloneSignal> {
        self.signal.filter(|signal| {
            signal.signal != Some(Signal::KvmClock) || kvm_clock::records().is_some()
        })
    }

    /// What requests compare of the signal.
    pub fn signal_address(&self) -> SignalAddress {
        self.signal()
            .map_or(SignalAddress::NONE, CloneSignal::address)
    }

    /// Whether this VM has a signal of clones, or this is no VM; false if the program does not rely on
    /// signals. kvm-clock counts before it is relied on; where it was given up, nothing else is looked for, because that takes
    /// system calls.
    pub fn has_clone_signal(&self) -> bool {
        let has_signal = || match self.signal.and_then(|found| found.signal) {
            Some(_) => self.signal().is_some(),
            None => self.notices_clones_by_vmgenid(),
        };
        !DISTRUSTED.load(Ordering::Relaxed) && (!self.is_vm || has_signal())
    }

    fn notices_clones_by_vmgenid(&self) -> bool {
        has_vmgenid() && self.can_see_generation()
    }

    /// Whether a signal changes before a clone of this VM runs.
    pub fn has_immediate_signal(&self) -> bool {
        self.signal().is_some_and(|signal| signal.is_relied_on())
    }

    /// What keeps a clone of this VM from repeating its sibling.
    pub fn clone_guard(&self) -> CloneGuard {
        let relied_on = self.signal().filter(CloneSignal::is_relied_on);
        match relied_on.and_then(|found| found.signal) {
            _ if self.is_provisional || DISTRUSTED.load(Ordering::Relaxed) => CloneGuard::NoSignal,
            Some(signal) => CloneGuard::Signal(signal),
            None if !self.is_vm => CloneGuard::NotAVm,
            None if self.notices_clones_by_vmgenid() => CloneGuard::Signal(Signal::Vmgenid),
            None => CloneGuard::NoSignal,
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

    /// Whether this machine or process may be a copy that nothing shows before its next request: requests must then be made
    /// different in each copy.
    pub fn may_be_unnoticed_copy(&self) -> bool {
        let is_vm_shown = !self.is_vm || self.has_immediate_signal();
        let is_shown = is_vm_shown
            && !self.is_provisional
            && !DISTRUSTED.load(Ordering::Relaxed)
            && freshness::follows_tick();
        !is_shown && !failpoint::is_active(Failpoint::SkipUnnotifiedCloneGuard)
    }

    /// Whether the generator needs additional input for each request. In a VM no signal is believed alone.
    pub fn needs_input(&self) -> bool {
        (self.is_vm || self.may_be_unnoticed_copy())
            && !failpoint::is_active(Failpoint::SkipUnnotifiedCloneGuard)
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
        Epoch {
            kernel: Epoch::NO_GENERATION,
            vm: self.signal().map_or(0, CloneSignal::value),
            process: fork::mark(),
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
pub(crate) fn has_vmgenid() -> bool {
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
    use super::super::clone_signal::tests::imitation;
    use super::Signal::{VmClock, VmgenidPage};
    use super::*;

    /// A machine that is no VM.
    const BARE_METAL: Policy = Policy {
        vdso: None,
        signal: None,
        is_vm: false,
        is_provisional: false,
    };
    const VM: Policy = Policy {
        is_vm: true,
        ..BARE_METAL
    };

    /// vmclock's disruption marker: no restore has to change it.
    const DISRUPTION_MARKER: Option<Signal> = None;

    fn with_signal(kind: impl Into<Option<Signal>>) -> Policy {
        Policy {
            signal: Some(imitation(kind.into())),
            ..VM
        }
    }

    #[test]
    fn the_vmgenid_is_the_machines() {
        assert_eq!(has_vmgenid(), vmgenid::is_bound());
        assert!(Policy::provisional().is_vm || !has_vmgenid());
    }

    #[test]
    fn clones_are_noticed_where_there_are_none_or_a_signal() {
        crate::fill(&mut [0; 16]);
        // This machine's vmgenid is a signal if the kernel's generation is seen.
        let by_vmgenid = has_vmgenid() && VM.can_see_generation();
        for (policy, notices_clones) in [
            (BARE_METAL, true),
            (VM, by_vmgenid),
            (with_signal(VmClock), true),
            (with_signal(DISRUPTION_MARKER), by_vmgenid),
            (with_signal(VmgenidPage), true),
        ] {
            assert_eq!(policy.has_clone_signal(), notices_clones, "{policy:?}");
            let is_shown = policy.clone_guard() != CloneGuard::NoSignal;
            assert_eq!(is_shown, notices_clones, "{policy:?}");
            let provisional = Policy {
                is_provisional: true,
                ..policy
            };
            assert_eq!(provisional.clone_guard(), CloneGuard::NoSignal);
        }
    }

    #[test]
    fn a_copy_may_be_unnoticed_without_an_immediate_signal() {
        crate::fill(&mut [0; 16]);
        let has_no_tick = !freshness::follows_tick();
        for (policy, expected) in [
            (BARE_METAL, has_no_tick),
            (VM, true),
            (with_signal(VmClock), has_no_tick),
            (with_signal(DISRUPTION_MARKER), true),
            (with_signal(VmgenidPage), has_no_tick),
        ] {
            assert_eq!(policy.may_be_unnoticed_copy(), expected, "{policy:?}");
            let provisional = Policy {
                is_provisional: true,
                ..policy
            };
            assert!(provisional.may_be_unnoticed_copy(), "{policy:?}");
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
            (with_signal(VmClock), [false, false, true]),
            (with_signal(VmgenidPage), [false, false, true]),
            (with_signal(DISRUPTION_MARKER), [false, true, true]),
        ] {
            let may_be =
                [epoch(5, 7), epoch(6, 7), epoch(5, 8)].map(|now| policy.may_be_clone(before, now));
            assert_eq!(may_be, expected, "{policy:?}");
        }
    }
}
