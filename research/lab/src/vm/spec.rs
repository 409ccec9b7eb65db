//! Describes a machine to boot.

use std::path::PathBuf;

use squall_probe::Mode;

use squall_guests::debian::{Architecture, Qemu};

/// How QEMU runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Accelerator {
    /// QEMU's translator: works everywhere, and time passes unevenly.
    Tcg,
    /// The host's CPU, through /dev/kvm.
    Kvm,
}

impl Accelerator {
    /// QEMU's name for the accelerator.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Tcg => "tcg",
            Accelerator::Kvm => "kvm",
        }
    }

    /// QEMU's name for a CPU with all features.
    fn cpu(self) -> &'static str {
        match self {
            Accelerator::Tcg => "max",
            Accelerator::Kvm => "host",
        }
    }
}

/// The CPU of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// x86-64 with all features. It has the random instruction only in modes that need it.
    X86_64,
    /// arm64 without the random instruction: Arm's Neoverse N1, with a cycle counter as slow as those of
    /// the slowest servers.
    NeoverseN1,
    /// The same with a counter a thousand times slower than any of a server, so that clones read equal
    /// counts.
    NeoverseN1WithSlowCounter,
    /// arm64 with all features, among them the random instruction, and a cycle counter of 1 GHz.
    Arm64Max,
}

impl Cpu {
    pub(super) fn architecture(self) -> Architecture {
        match self {
            Cpu::X86_64 => Architecture::Amd64,
            Cpu::NeoverseN1 | Cpu::NeoverseN1WithSlowCounter | Cpu::Arm64Max => Architecture::Arm64,
        }
    }
}

/// How the kernel module shows vmgenid's page to programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// Nothing: the module is not loaded.
    #[default]
    Hidden,
    /// The page, which changes before a clone runs.
    Shown,
    /// A copy of the page, which never changes: the control.
    Copied,
}

/// The records of kvm-clock, which KVM writes anew before a CPU's first instruction in a clone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KvmClock {
    /// There are none.
    #[default]
    Absent,
    /// They are written anew, as by KVM.
    Renewed,
    /// A clone keeps the old ones: the control.
    Stale,
}

/// What notifies a guest of a clone. Without any, a clone cannot tell that it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// A vmgenid device.
    pub vmgenid: bool,
    /// What the kernel module shows programs of vmgenid's page.
    pub page: Page,
    /// A vmclock device.
    pub vmclock: bool,
    /// kvm-clock.
    pub kvm_clock: KvmClock,
}

impl Signals {
    /// Whether one of them does not change in a clone, as a control.
    pub fn mislead(self) -> bool {
        self.page == Page::Copied || self.kvm_clock == KvmClock::Stale
    }
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The QEMU that runs it.
    pub qemu: Qemu,
    /// The kernel's image.
    pub kernel: PathBuf,
    /// The initramfs that holds the probe.
    pub initramfs: PathBuf,
    /// The machine's CPU.
    pub cpu: Cpu,
    /// The number of CPUs.
    pub cpus: usize,
    /// What notifies the guest of a clone.
    pub signals: Signals,
    /// What the probe does.
    pub mode: Mode,
    /// How QEMU runs the guest's instructions.
    pub accelerator: Accelerator,
}

impl Spec {
    /// The usual number of CPUs: one can serve requests while another is notified of a clone.
    pub const CPUS: usize = 2;

    /// QEMU's name and options for the CPU.
    pub(super) fn cpu(&self) -> String {
        let clock = match self.signals.kvm_clock {
            KvmClock::Stale => ",x-rewrite-kvmclock=off",
            _ => "",
        };
        self.model() + clock
    }

    fn model(&self) -> String {
        let all_features = self.accelerator.cpu();
        match self.cpu {
            // Only the cycle counter tells clones apart by itself; what holds without the instruction also holds with it.
            Cpu::X86_64 => format!("{all_features},-rdrand,-rdseed"),
            Cpu::NeoverseN1 => "neoverse-n1,cntfrq=25000000".into(),
            Cpu::NeoverseN1WithSlowCounter => "neoverse-n1,cntfrq=20000".into(),
            Cpu::Arm64Max => all_features.into(),
        }
    }

    /// Memory, in MiB. Interpreters need more, because they are in the initramfs, of which there are two copies while
    /// the kernel unpacks it.
    pub(super) fn memory_mib(&self) -> usize {
        match self.mode {
            Mode::Sandbox => 1536,
            _ => 256,
        }
    }

    /// Parameters for the probe on the kernel's command line.
    pub(super) fn command_line(&self) -> String {
        format!("{}{}", Mode::PARAMETER, self.mode.name())
    }
}
