//! Reports the machine's protections and the generator's work.
//!
//! The values are for people and for monitoring. No guard and no generator depends on them.

use core::fmt;
use core::sync::atomic::Ordering;

pub use crate::entropy::cpu::NoiseSource;
use crate::error::Error;
use crate::guard::freshness;
use crate::guard::memory;
pub use crate::guard::memory::MemoryKind;
use crate::guard::policy::{self, Policy};
use crate::guard::process_start;
use crate::guard::thread_line::line;
use crate::guard::vdso::Watch;
use crate::signal::{CloneGuard, Signal};
use crate::{entropy, thread_generator};
use squall_drbg::Engine;

/// The protections of this process and the work of its generator so far.
///
/// With the feature `serde` it can be serialized: `squall status --json` has these keys. New ones may be added, none
/// are removed.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Status {
    /// The engine that every thread's generator uses.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize::name"))]
    pub engine: Engine,
    /// Where the calling thread's state lives.
    pub memory: MemoryKind,
    /// What keeps a forked child from repeating its parent.
    pub fork_guard: ForkGuard,
    /// What keeps a VM clone from repeating its sibling.
    pub clone_guard: CloneGuard,
    /// How a reseed of the kernel's RNG is noticed.
    pub reseed_guard: ReseedGuard,
    /// The kernel RNG's generation, where it can be read.
    pub kernel_generation: Option<u64>,
    /// The CPU's random instruction, health-tested while in use (SP 800-90B section 4.4).
    pub cpu_random: NoiseSource,
    /// The cycle counter, health-tested in the same way.
    pub cycle_counter: NoiseSource,
    /// A hypervisor announces itself, or there is a vmgenid or a vmclock.
    pub is_vm: bool,
    /// The kernel's vmgenid driver is bound to a device.
    pub has_vmgenid: bool,
    /// /dev/vmclock0 is the kernel's device, readable, and used; squall does not look for it if kvm-clock is a signal. If it
    /// has no generation counter, its disruption marker is checked in addition to other signals, unless vmgenid's page is
    /// readable, which is used instead.
    pub has_vmclock: bool,
    /// /dev/squall-vmgenid is the device of squall's kernel module, and its page is checked on each request. If kvm-clock is
    /// a signal, or vmclock has a generation counter, squall does not look for this device.
    pub has_vmgenid_page: bool,
    /// kvm-clock's records are mapped into this process, and are KVM's: each request compares its CPU's. squall looks for
    /// none of the devices then.
    pub has_kvm_clock: bool,
    /// The kernel's tick is compared on each request: it shows that the process may have been restored.
    pub follows_tick: bool,
    /// The kernel has getrandom in the vDSO.
    pub has_vdso_getrandom: bool,
    /// Seedings of threads' generators, in this process and the processes it was forked from.
    pub reseeds: u64,
    /// Bootstraps of the root, counted in the same way.
    pub bootstraps: u64,
    /// Bytes generated and discarded unused because the epoch had changed or the kernel's tick had moved on, counted in
    /// the same way.
    pub bytes_discarded: u64,
}

/// What keeps a forked child from repeating its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForkGuard {
    /// The kernel wipes the state in the child (MAP_DROPPABLE or MADV_WIPEONFORK).
    Wiped,
    /// The process is checked on every request. Weaker: it misses a raw clone(2) in a child whose own
    /// child gets the first process's id.
    ProcessId,
    /// There is no state to inherit ([`MemoryKind::None`]).
    NoState,
}

/// How a reseed of the kernel's RNG is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReseedGuard {
    /// By its generation in the vDSO's data: one load and one compare on every request.
    MappedGeneration,
    /// By asking the vDSO on every request, some nanoseconds.
    VdsoProbe,
    /// A reseed is not noticed: state is reseeded every 60 seconds.
    Time,
}

impl Status {
    /// Draws twice before reading, because the second request looks for signals of clones, for which the
    /// first has no time, and waits until it can tell whether kvm-clock is one.
    pub(crate) fn now() -> Result<Status, Error> {
        thread_generator::try_fill(&mut [0; 1])?;
        thread_generator::try_fill(&mut [0; 1])?;
        let policy = Policy::get_settled();
        let signal = policy.signal();
        let has_device = |path| signal.is_some_and(|signal| signal.device == Some(path));
        let generation = freshness::mapped_generation();
        let memory = line().page().map_or(MemoryKind::None, |_| memory::kind());
        Ok(Status {
            engine: thread_generator::generator::engine(),
            memory,
            fork_guard: match memory {
                MemoryKind::None => ForkGuard::NoState,
                MemoryKind::Plain => ForkGuard::ProcessId,
                _ => ForkGuard::Wiped,
            },
            clone_guard: policy.clone_guard(),
            reseed_guard: match policy::watch() {
                Watch::Mapped => ReseedGuard::MappedGeneration,
                Watch::Probe => ReseedGuard::VdsoProbe,
                _ => ReseedGuard::Time,
            },
            kernel_generation: (generation != 0).then_some(generation),
            cpu_random: entropy::cpu::random_state(),
            cycle_counter: entropy::cpu::counter_state(),
            bootstraps: thread_generator::root::BOOTSTRAPS.load(Ordering::Relaxed),
            is_vm: policy.is_vm,
            has_vmgenid: policy::has_vmgenid(),
            has_vmclock: has_device(c"/dev/vmclock0"),
            has_vmgenid_page: has_device(c"/dev/squall-vmgenid"),
            has_kvm_clock: policy.clone_guard() == CloneGuard::Signal(Signal::KvmClock),
            follows_tick: freshness::follows_tick(),
            has_vdso_getrandom: policy.vdso.is_some(),
            reseeds: thread_generator::RESEEDS.load(Ordering::Relaxed),
            bytes_discarded: thread_generator::DISCARDED.load(Ordering::Relaxed),
        })
    }

    /// The signals of copies that count in this process, those of machines first.
    pub fn signals(&self) -> Vec<Signal> {
        self.signals_if(process_start::is_known())
    }

    fn signals_if(&self, knows_process_start: bool) -> Vec<Signal> {
        let counts = |signal: &Signal| match signal {
            Signal::KvmClock => self.has_kvm_clock,
            Signal::VmClock => self.clone_guard == CloneGuard::Signal(Signal::VmClock),
            Signal::VmgenidPage => self.has_vmgenid_page,
            Signal::Vmgenid => self.has_vmgenid && self.reseed_guard != ReseedGuard::Time,
            // Requests do not read it.
            Signal::KernelLog => false,
            Signal::Tick => self.follows_tick,
            Signal::Process => knows_process_start,
            Signal::WipedMemory => self.fork_guard == ForkGuard::Wiped,
            Signal::ProcessId => self.fork_guard == ForkGuard::ProcessId,
            Signal::AtFork => true,
        };
        Signal::ALL.into_iter().filter(counts).collect()
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemoryKind::Droppable => "droppable",
            MemoryKind::WipeOnFork => "wipe-on-fork",
            MemoryKind::Plain => "plain",
            MemoryKind::None => "none",
        })
    }
}

impl fmt::Display for ForkGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ForkGuard::Wiped => "wiped",
            ForkGuard::ProcessId => "process-id",
            ForkGuard::NoState => "no-state",
        })
    }
}

impl fmt::Display for ReseedGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReseedGuard::MappedGeneration => "mapped-generation",
            ReseedGuard::VdsoProbe => "vdso-probe",
            ReseedGuard::Time => "time",
        })
    }
}

/// What has a name is serialized as it.
#[cfg(feature = "serde")]
mod serialize {
    use serde::{Serialize, Serializer};

    use super::*;

    pub fn name<S: Serializer>(
        named: &impl fmt::Display,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(named)
    }

    macro_rules! by_name {
        ($($named:ty),*) => {
            $(impl Serialize for $named {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    name(self, serializer)
                }
            })*
        };
    }
    by_name!(MemoryKind, ForkGuard, CloneGuard, ReseedGuard, NoiseSource);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_listed_where_it_counts() {
        let mut bare = crate::status();
        (bare.has_kvm_clock, bare.has_vmgenid_page) = (false, false);
        (bare.has_vmgenid, bare.follows_tick) = (false, false);
        bare.clone_guard = CloneGuard::NoSignal;
        bare.fork_guard = ForkGuard::NoState;
        bare.reseed_guard = ReseedGuard::MappedGeneration;
        assert_eq!(bare.signals_if(false), [Signal::AtFork]);
        assert_eq!(bare.signals_if(true), [Signal::Process, Signal::AtFork]);
        type Case = (fn(&mut Status), Signal);
        let cases: [Case; 7] = [
            (|s| s.has_kvm_clock = true, Signal::KvmClock),
            (
                |s| s.clone_guard = CloneGuard::Signal(Signal::VmClock),
                Signal::VmClock,
            ),
            (|s| s.has_vmgenid_page = true, Signal::VmgenidPage),
            (|s| s.has_vmgenid = true, Signal::Vmgenid),
            (|s| s.follows_tick = true, Signal::Tick),
            (|s| s.fork_guard = ForkGuard::Wiped, Signal::WipedMemory),
            (|s| s.fork_guard = ForkGuard::ProcessId, Signal::ProcessId),
        ];
        for (change, signal) in cases {
            let mut status = bare.clone();
            change(&mut status);
            assert_eq!(status.signals_if(false), [signal, Signal::AtFork]);
        }
        bare.has_vmgenid = true;
        bare.reseed_guard = ReseedGuard::Time;
        assert_eq!(bare.signals_if(false), [Signal::AtFork], "not seen");
    }
}
