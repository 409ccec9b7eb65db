//! Describes a machine to boot.

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

/// What the kernel module shows of vmgenid's page.
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

/// What tells a guest that it was cloned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// A vmgenid device.
    pub vmgenid: bool,
    /// What the guest shows its programs of it.
    pub page: Page,
    /// A vmclock device.
    pub vmclock: bool,
}

impl Signals {
    /// No devices: a clone cannot tell that it is one.
    pub const NONE: Signals = Signals {
        vmgenid: false,
        page: Page::Hidden,
        vmclock: false,
    };

    /// A vmgenid device alone.
    pub const VMGENID: Signals = Signals {
        vmgenid: true,
        page: Page::Hidden,
        vmclock: false,
    };

    /// A vmgenid device whose page the kernel module shows.
    pub const SHOWN: Signals = Signals {
        page: Page::Shown,
        ..Signals::VMGENID
    };

    /// A vmgenid device of whose page the kernel module shows a copy.
    pub const COPIED: Signals = Signals {
        page: Page::Copied,
        ..Signals::VMGENID
    };

    /// A vmgenid and a vmclock device.
    pub const BOTH: Signals = Signals {
        vmgenid: true,
        page: Page::Hidden,
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
    /// The devices that tell the guest of a clone.
    pub signals: Signals,
    /// What the probe does.
    pub mode: Mode,
    /// How QEMU runs the guest's instructions.
    pub accelerator: Accelerator,
}

impl Spec {
    /// A CPU with all features, except the random instruction where the mode needs none.
    pub(super) fn cpu(&self) -> String {
        let without = if self.mode.has_random_instruction() {
            ""
        } else {
            ",-rdrand,-rdseed"
        };
        format!("{}{without}", self.accelerator.cpu())
    }

    /// What the kernel's command line tells the probe.
    pub(super) fn command_line(&self) -> String {
        format!("{}{}", Mode::PARAMETER, self.mode.name())
    }
}
