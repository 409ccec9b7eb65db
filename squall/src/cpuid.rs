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
    has(Features::HYPERVISOR) && is_kvm_by(cpuid)
}

fn is_kvm_by(cpuid: impl Fn(u32) -> Option<CpuidResult>) -> bool {
    const LEAVES: [u32; 2] = [0x4000_0000, 0x4000_0100];
    /// KVM_FEATURE_ASYNC_PF, KVM_FEATURE_STEAL_TIME and KVM_FEATURE_PV_EOI.
    const FEATURES: u32 = 1 << 4 | 1 << 5 | 1 << 6;
    let has_name = |found: CpuidResult| {
        let name = [found.ebx, found.ecx, found.edx].map(u32::to_le_bytes);
        name.as_flattened() == b"KVMKVMKVM\0\0\0"
    };
    LEAVES.into_iter().any(|leaf| {
        cpuid(leaf).is_some_and(has_name)
            && cpuid(leaf + 1).is_some_and(|found| found.eax & FEATURES != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a machine is one of KVM's that shows this name and these features, from `first` on.
    fn shows(first: u32, name: &[u8; 12], features: u32) -> bool {
        let word = |at: usize| u32::from_le_bytes(*name[at..].first_chunk().unwrap());
        is_kvm_by(|leaf| {
            let mut found = CpuidResult {
                eax: 0,
                ebx: 0,
                ecx: 0,
                edx: 0,
            };
            if leaf == first {
                [found.ebx, found.ecx, found.edx] = [0, 4, 8].map(word);
            } else if leaf == first + 1 {
                found.eax = features;
            }
            Some(found)
        })
    }

    #[test]
    fn kvm_is_told_by_its_name_and_what_virtualbox_lacks() {
        const KVM: &[u8; 12] = b"KVMKVMKVM\0\0\0";
        for features in [1 << 4, 1 << 5, 1 << 6] {
            assert!(shows(0x4000_0000, KVM, features));
            assert!(shows(0x4000_0100, KVM, features));
        }
        let virtualboxs = 1 << 0 | 1 << 3 | 1 << 7 | 1 << 24;
        assert!(!shows(0x4000_0000, KVM, virtualboxs));
        assert!(!shows(0x4000_0000, b"TCGTCGTCGTCG", u32::MAX));
        assert!(!shows(0x4000_0200, KVM, u32::MAX));
        assert!(!is_kvm_by(|_| None));
    }
}
