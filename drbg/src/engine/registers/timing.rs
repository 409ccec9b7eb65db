//! Instructions whose time does not depend on data, on aarch64 CPUs that promise it only on request
//! (PSTATE.DIT, Arm ARM, "About the DIT bit").

use crate::hwcap::{Features, has};

/// PSTATE.DIT in the register of that name.
const DIT: u64 = 1 << 24;

/// Sets PSTATE.DIT until it is dropped, then restores the earlier value.
#[derive(Debug)]
pub(super) struct ConstantTime {
    was_off: bool,
}

impl ConstantTime {
    #[inline]
    pub fn begin() -> ConstantTime {
        // SAFETY: the CPU has the register.
        let was_off = has(Features::DIT) && unsafe { read() } & DIT == 0;
        if was_off {
            // SAFETY: as above.
            unsafe { write(DIT) };
        }
        ConstantTime { was_off }
    }
}

impl Drop for ConstantTime {
    #[inline]
    fn drop(&mut self) {
        if self.was_off {
            // SAFETY: the CPU had the register.
            unsafe { write(0) };
        }
    }
}

/// # Safety
/// The CPU must have FEAT_DIT.
#[inline]
unsafe fn read() -> u64 {
    let value;
    // SAFETY: the caller's promise. By its encoding, as assemblers know the name for newer CPUs alone.
    unsafe { core::arch::asm!("mrs {}, s3_3_c4_c2_5", out(reg) value, options(nostack)) };
    value
}

/// # Safety
/// The CPU must have FEAT_DIT.
#[inline]
unsafe fn write(value: u64) {
    // SAFETY: as above. Not `nomem`, so that no access to keys moves across it.
    unsafe { core::arch::asm!("msr s3_3_c4_c2_5, {}", in(reg) value, options(nostack)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_time_lasts_until_the_outermost_guard_ends() {
        if !has(Features::DIT) {
            return;
        }
        // SAFETY: the CPU has the register.
        let is_on = || unsafe { read() } & DIT != 0;
        assert!(!is_on());
        {
            let _outer = ConstantTime::begin();
            drop(ConstantTime::begin());
            assert!(is_on());
        }
        assert!(!is_on());
    }
}
