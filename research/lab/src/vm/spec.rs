//! What a machine is made of.

use std::path::PathBuf;

use squall_probe::Mode;

/// How instructions of the guest are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Accelerator {
    /// QEMU's translator: works everywhere, and time passes unevenly.
    Tcg,
    /// The host's CPU, through /dev/kvm.
    Kvm,
}

impl Accelerator {
    /// QEMU's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Tcg => "tcg",
            Accelerator::Kvm => "kvm",
        }
    }

    /// The CPU that has all it can. Without the random instruction, so that only the cycle counter
    /// tells clones apart by itself: what holds then holds with it, too.
    pub(super) fn cpu(self) -> &'static str {
        match self {
            Accelerator::Tcg => "max,-rdrand,-rdseed",
            Accelerator::Kvm => "host,-rdrand,-rdseed",
        }
    }
}

/// Devices that tell a guest that it was cloned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// A vmgenid device.
    pub vmgenid: bool,
    /// A vmclock device.
    pub vmclock: bool,
}

impl Signals {
    /// None: a clone looks like any other machine.
    pub const NONE: Signals = Signals {
        vmgenid: false,
        vmclock: false,
    };

    /// vmgenid alone.
    pub const VMGENID: Signals = Signals {
        vmgenid: true,
        vmclock: false,
    };

    /// vmgenid and vmclock.
    pub const BOTH: Signals = Signals {
        vmgenid: true,
        vmclock: true,
    };
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The kernel's image.
    pub kernel: PathBuf,
    /// The initramfs that holds the probe.
    pub initramfs: PathBuf,
    /// What tells the guest that it was cloned.
    pub signals: Signals,
    /// What the probe does.
    pub mode: Mode,
    /// How the guest is run.
    pub accelerator: Accelerator,
}

impl Spec {
    /// The kernel's command line.
    pub(super) fn command_line(&self) -> String {
        let mode = self.mode.name();
        format!("console=ttyS0 panic=-1 quiet {}{mode}", Mode::PARAMETER)
    }
}
