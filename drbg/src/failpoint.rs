//! Failpoints: switches with which a test turns a protection off, or hides something of the machine.
//!
//! Without the `testing` feature no failpoint is active: [`is_active`] is the constant `false`, and leaves
//! no trace in the program.

/// What a test can activate, for the whole process and for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Failpoint {
    /// Leaves keys and intermediate values in memory after use.
    SkipWiping,
    /// Leaves registers as they are after the use of a key.
    SkipRegisterClearing,
    /// Hides what glibc has kept of CPUID's answers.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    HideKeptCpuid,
}

#[cfg(feature = "testing")]
static ACTIVE: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0);

/// Whether a test activated `failpoint`.
#[inline(always)]
pub(crate) fn is_active(failpoint: Failpoint) -> bool {
    #[cfg(feature = "testing")]
    return ACTIVE.load(core::sync::atomic::Ordering::Relaxed) & (1 << failpoint as u8) != 0;
    #[cfg(not(feature = "testing"))]
    {
        let _ = failpoint;
        false
    }
}

/// Activates a failpoint in this process.
#[cfg(feature = "testing")]
pub fn activate(failpoint: Failpoint) {
    ACTIVE.fetch_or(1 << failpoint as u8, core::sync::atomic::Ordering::Relaxed);
}
