//! Failpoints: switches with which a test disables a guard, or changes what squall sees of the machine,
//! to show what happens then.
//!
//! Without the `testing` feature no failpoint is active: [`is_active`] is the constant `false`, and leaves
//! no trace in the program.

/// What a test can activate, for the whole process and for good; each is named for what it does. Those that
/// change what squall sees of the machine must be active before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Failpoint {
    /// Takes memory that a fork does not wipe, and does not check which process draws.
    SkipForkGuard,
    /// Makes the kernel's generation appear never to change.
    FreezeGeneration,
    /// Checks that the page is still there before reading instead of after.
    CheckBeforeRead,
    /// Leaves keys and intermediate values in memory after use.
    #[cfg(feature = "testing")]
    SkipWiping,
    /// Unlocks a page in use, so that a signal handler may draw from it.
    SkipReentryLock,
    /// Disables what makes requests differ in copies that nothing shows: request pads, and additional input.
    SkipUnnotifiedCloneGuard,
    /// Makes kvm-clock's records appear never to change.
    FreezeKvmClock,
    /// Makes the kernel's tick appear never to change.
    FreezeTick,
    /// Hides the kernel's tick.
    HideTick,
    /// Hides the AES instructions for request pads.
    HideCachedSchedule,
    /// Leaves registers as they are after the use of a key.
    #[cfg(feature = "testing")]
    SkipRegisterClearing,
    /// Takes zeros as additional input to refills, pads and long requests.
    ZeroAdditionalInput,
    /// Takes zeros as the kernel's part of a seed.
    ZeroKernelBytes,
    /// Takes zeros as the root's part of a seed.
    ZeroRootBytes,
    /// Hides the memory for the root.
    HideRootPage,
    /// Does not bootstrap the root when the machine may have been cloned.
    SkipBootstrap,
    /// Lets noise sources pass their health tests, whatever they return.
    PassHealthTests,
    /// Makes every word of the random instruction the same.
    RepeatRandomWord,
    /// Hides the random instruction.
    HideRandomInstruction,
    /// Makes the cycle counter stand at 0.
    FreezeCycleCounter,
    /// Makes the process id and the CPU number 0 in the inputs of the root.
    ZeroProcessAndCpuNumbers,
    /// Hides getrandom in the vDSO.
    HideVdso,
    /// Hides the address of the kernel's generation.
    HideGenerationAddress,
    /// Refuses droppable memory.
    RefuseDroppableMemory,
    /// Refuses memory that is wiped on fork.
    RefuseWipeOnFork,
    /// Does not have memory wiped on fork that should be, as after a restore by an old CRIU.
    SkipWipeOnFork,
    /// Hides the vmgenid device.
    HideVmgenid,
    /// Pretends that there is a vmgenid device.
    PretendVmgenid,
    /// Hides the hypervisor's announcement of itself.
    HideHypervisorAnnouncement,
    /// Hides kvm-clock's records.
    HideKvmClock,
    /// Hides what glibc has kept of CPUID's answers.
    #[cfg(feature = "testing")]
    HideKeptCpuid,
    /// Hides the instruction that reads the CPU's number.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    HideRdpid,
    /// Pretends that the machine is a VM.
    PretendVm,
    /// Takes any file that is opened as vmclock or vmgenid's page for the kernel's device.
    SkipCloneDeviceCheck,
    /// Makes a seed appear never to age.
    FreezeSeedAge,
}

#[cfg(feature = "testing")]
static ACTIVE: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

/// Whether a test activated `failpoint`.
#[inline(always)]
pub(crate) fn is_active(failpoint: Failpoint) -> bool {
    #[cfg(feature = "testing")]
    return ACTIVE.load(core::sync::atomic::Ordering::Relaxed) & (1 << failpoint as u64) != 0;
    #[cfg(not(feature = "testing"))]
    {
        let _ = failpoint;
        false
    }
}

/// Activates a failpoint in this process.
#[cfg(feature = "testing")]
pub fn activate(failpoint: Failpoint) {
    use squall_drbg::testing::Failpoint as OfDrbg;
    match failpoint {
        Failpoint::SkipWiping => squall_drbg::testing::activate(OfDrbg::SkipWiping),
        Failpoint::SkipRegisterClearing => {
            squall_drbg::testing::activate(OfDrbg::SkipRegisterClearing)
        }
        Failpoint::HideKeptCpuid => squall_drbg::testing::activate(OfDrbg::HideKeptCpuid),
        _ => {}
    }
    ACTIVE.fetch_or(1 << failpoint as u64, core::sync::atomic::Ordering::Relaxed);
}
