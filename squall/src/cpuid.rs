//! Whether the CPU is a virtual one, and of which hypervisor. Where CPUID traps, finding out which takes two or three
//! traps; only a process that draws more than a few bytes asks.

use core::arch::x86_64::CpuidResult;

use squall_drbg::internal::cpuid::cpuid;
pub(crate) use squall_drbg::internal::cpuid::{Features, has};

/// Whether KVM runs the CPU (Documentation/virt/kvm/x86/cpuid.rst in Linux). If KVM shows its guests
/// the name and leaves of Hyper-V, its own leaves come 100H later.
///
/// VirtualBox can show KVM's name, but none of the features that this function looks for.
pub(crate) fn is_kvm() -> bool {
    const LEAVES: [u32; 2] = [0x4000_0000, 0x4000_0100];
    /// KVM_FEATURE_ASYNC_PF, KVM_FEATURE_STEAL_TIME and KVM_FEATURE_PV_EOI.
    const FEATURES: u32 = 1 << 4 | 1 << 5 | 1 << 6;
    let has_name = |found: CpuidResult| {
        let name = [found.ebx, found.ecx, found.edx].map(u32::to_le_bytes);
        name.as_flattened() == b"KVMKVMKVM\0\0\0"
    };
    let is_kvm = |leaf| {
        cpuid(leaf).is_some_and(has_name)
            && cpuid(leaf + 1).is_some_and(|found| found.eax & FEATURES != 0)
    };
    has(Features::HYPERVISOR) && LEAVES.into_iter().any(is_kvm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kvm_is_a_hypervisor() {
        assert!(!is_kvm() || has(Features::HYPERVISOR));
    }
}
