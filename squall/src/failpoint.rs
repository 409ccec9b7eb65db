//! Failpoints: switches with which a test turns a guard off, or takes a property away from the machine,
//! to show what happens without it.
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
    /// The check after reading that the page is still there; it is made before reading instead.
    CheckAfterRead,
    /// The wiping of keys and of intermediate values after use.
    Wiping,
    /// The lock that keeps a signal handler off a page in use.
    ReentryLock,
    /// The guard against clones of a VM that has not been notified yet: request pads, additional input,
    /// and the search for pauses.
    UnnotifiedCloneGuard,
    /// The comparison of the cycle counter with its last reading; without it, every request counts as
    /// part of a burst.
    StopDetection,
    /// The requirement that a burst is served from a buffer that was filled within it.
    BurstAnchors,
    /// The machine: AES instructions for request pads.
    CachedSchedule,
    /// The clearing of registers after the use of a key.
    RegisterClearing,
    /// Additional input to refills, pads and long requests; zeros take its place.
    AdditionalInput,
    /// The kernel's part of a seed; zeros take its place.
    KernelBytes,
    /// The root's part of a seed; zeros take its place.
    RootBytes,
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
    /// The machine: a process id and CPU number that differ from others.
    ProcessAndCpuNumbers,
    /// The machine: getrandom in the vDSO.
    Vdso,
    /// The machine: a known address of the kernel's generation.
    GenerationAddress,
    /// The machine: droppable memory.
    DroppableMemory,
    /// The machine: memory that is wiped on fork.
    WipeOnFork,
    /// The machine: a vmgenid device.
    Vmgenid,
    /// The machine: the absence of a vmgenid device.
    NoVmgenid,
    /// The machine: a hypervisor that announces itself.
    HypervisorAnnouncement,
    /// The machine: being a guest of KVM.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Kvm,
    /// The machine: not being a guest of KVM.
    NoKvm,
    /// The machine: the instruction that reads the CPU's number.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Rdpid,
    /// The machine: not being a VM.
    BareMetal,
    /// The check that a file opened as vmclock or vmgenid's page is the kernel's device.
    CloneDeviceCheck,
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
