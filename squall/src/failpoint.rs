//! Failpoints: switches that turn a guard off or take a property away from the machine, so that a
//! test can show what happens without it.
//!
//! Without the `testing` feature every switch is the constant `false` and leaves no trace in the
//! program. With it, everything is on until a test switches it off.

/// What a test can switch off, for the whole process and for good. Properties of the machine must
/// be switched off before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Failpoint {
    /// Memory that a fork wipes, and the process check where there is no such memory.
    ForkGuard,
    /// The comparison with the kernel's generation, which then appears never to change.
    GenerationCheck,
    /// The check after reading that the page is still there: it is made before reading instead.
    Recheck,
    /// The wiping of keys and of intermediate values after use.
    Wiping,
    /// The lock that keeps a signal handler off a page in use.
    ReentryLock,
    /// What makes requests differ where a VM may be cloned before it is notified: pads, additional
    /// input, and the search for pauses.
    UnseenClones,
    /// The comparison of the cycle counter with the last request's: no stop of the machine is seen.
    Stops,
    /// The requirement that a burst was served from a buffer that was made in it.
    Anchors,
    /// The machine: AES instructions for request pads.
    CachedSchedule,
    /// The clearing of registers after code that handled a key.
    RegisterClearing,
    /// Additional input to refills, pads and long requests, which becomes zeros.
    AdditionalInput,
    /// The kernel's part of a seed, which becomes zeros.
    KernelBytes,
    /// The other part of a seed, the root's, which becomes zeros.
    Root,
    /// The machine: memory for the root.
    RootPage,
    /// The bootstrap of the root when the machine may have been cloned.
    Bootstrap,
    /// The health tests of noise sources, which always pass.
    HealthTests,
    /// The machine: a random instruction whose words differ.
    RandomWordsDiffer,
    /// The machine: a random instruction.
    RandomInstruction,
    /// The machine: a cycle counter that moves.
    CycleCounter,
    /// The machine: numbers of process and CPU that differ.
    Numbers,
    /// The machine: getrandom in the vDSO.
    Vdso,
    /// The machine: a known place of the kernel's generation.
    GenerationPlace,
    /// The machine: droppable memory.
    DroppableMemory,
    /// The machine: memory that is wiped on fork.
    WipeOnFork,
    /// The machine: a vmgenid device.
    Vmgenid,
    /// The machine: having no vmgenid device.
    NoVmgenid,
    /// The machine: a hypervisor that announces itself.
    Announcement,
    /// The machine: being a guest of KVM.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Kvm,
    /// The machine: being no guest of KVM.
    NoKvm,
    /// The machine: the instruction that reads the CPU's number.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Rdpid,
    /// The machine: being no VM.
    BareMetal,
    /// The check that what is opened as a device that tells of clones is the kernel's.
    CloneDevice,
    /// The age of a seed, which then appears never to grow.
    SeedAge,
}

#[cfg(feature = "testing")]
static OFF: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

/// Whether a test switched `failpoint` off.
#[inline(always)]
pub(crate) fn is_off(failpoint: Failpoint) -> bool {
    #[cfg(feature = "testing")]
    return OFF.load(core::sync::atomic::Ordering::Relaxed) & (1 << failpoint as u64) != 0;
    #[cfg(not(feature = "testing"))]
    {
        let _ = failpoint;
        false
    }
}

/// Switches a guard off, or takes a property away from the machine, for this process.
#[cfg(feature = "testing")]
pub fn switch_off(failpoint: Failpoint) {
    OFF.fetch_or(1 << failpoint as u64, core::sync::atomic::Ordering::Relaxed);
}
