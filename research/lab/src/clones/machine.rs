//! The machines of the experiments: a kernel, a CPU, and the devices that notify of a clone.

use std::fmt;
use std::str::FromStr;

use crate::vm::{Cpu, Page, Signals};
use squall_guests::debian::{Architecture, KernelName};

/// A kernel on a machine with or without clone notification devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub kernel: KernelName,
    pub cpu: Cpu,
    /// The devices that notify the kernel of a clone.
    pub signals: Signals,
}

impl Machine {
    /// Every machine of the campaign.
    pub const DEFAULT: [Machine; 5] = [
        Machine::new(KernelName::V6_1, Signals::NONE),
        Machine::new(KernelName::V6_1, Signals::VMGENID),
        Machine::new(KernelName::V6_12, Signals::NONE),
        Machine::new(KernelName::V6_12, Signals::VMGENID),
        Machine::new(KernelName::Newest, Signals::VMGENID_AND_VMCLOCK),
    ];

    /// Machines whose kernel shows vmgenid's page, or a copy of it.
    const WITH_MODULE: [Machine; 6] = [
        Machine::new(KernelName::V6_1, Signals::VMGENID_WITH_PAGE),
        Machine::new(KernelName::V6_1, Signals::VMGENID_WITH_COPY),
        Machine::new(KernelName::V6_12, Signals::VMGENID_WITH_PAGE),
        Machine::new(KernelName::V6_12, Signals::VMGENID_WITH_COPY),
        Machine::new(KernelName::Newest, Signals::VMGENID_WITH_PAGE),
        Machine::new(KernelName::Newest, Signals::VMGENID_WITH_COPY),
    ];

    /// Machines with arm64. QEMU has no device there that notifies of a clone.
    const ARM64: [Machine; 9] = [
        Machine::arm64(KernelName::Arm64V6_12, Cpu::NeoverseN1),
        Machine::arm64(KernelName::Arm64V6_12, Cpu::Arm64Max),
        Machine::arm64(KernelName::Arm64V6_12, Cpu::NeoverseN1WithSlowCounter),
        Machine::arm64(KernelName::Arm64V6_12Pages16K, Cpu::NeoverseN1),
        Machine::arm64(KernelName::Arm64V6_12Pages16K, Cpu::Arm64Max),
        Machine::arm64(KernelName::Arm64Newest, Cpu::NeoverseN1),
        Machine::arm64(KernelName::Arm64Newest, Cpu::Arm64Max),
        Machine::arm64(KernelName::Arm64NewestPages16K, Cpu::NeoverseN1),
        Machine::arm64(KernelName::Arm64NewestPages16K, Cpu::Arm64Max),
    ];

    const fn new(kernel: KernelName, signals: Signals) -> Machine {
        Machine {
            kernel,
            cpu: Cpu::X86_64,
            signals,
        }
    }

    const fn arm64(kernel: KernelName, cpu: Cpu) -> Machine {
        Machine {
            kernel,
            cpu,
            signals: Signals::NONE,
        }
    }

    /// The kind of its CPU.
    pub fn architecture(self) -> Architecture {
        self.kernel.architecture()
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel.name())?;
        match self.cpu {
            Cpu::X86_64 | Cpu::NeoverseN1 => {}
            Cpu::NeoverseN1WithSlowCounter => f.write_str("+slow")?,
            Cpu::Arm64Max => f.write_str("+rndr")?,
        }
        if self.signals.vmgenid {
            f.write_str("+vmgenid")?;
        }
        match self.signals.page {
            Page::Hidden => {}
            Page::Shown => f.write_str("+module")?,
            Page::Copied => f.write_str("+copy")?,
        }
        if self.signals.vmclock {
            f.write_str("+vmclock")?;
        }
        Ok(())
    }
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(name: &str) -> Result<Machine, String> {
        let known = [
            &Machine::DEFAULT[..],
            &Machine::WITH_MODULE,
            &Machine::ARM64,
        ]
        .concat();
        let find = |machine: &&Machine| machine.to_string() == name;
        known.iter().find(find).copied().ok_or_else(|| {
            let all: Vec<_> = known.iter().map(Machine::to_string).collect();
            format!("{name:?} is not known: use one of {}", all.join(", "))
        })
    }
}
