//! Describes a machine to boot.

use std::path::PathBuf;

use squall_probe::Mode;

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

/// The devices that notify a guest of a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// A vmgenid device.
    pub vmgenid: bool,
    /// What the kernel module shows programs of vmgenid's page.
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

    /// A vmgenid device, with the kernel module showing its page.
    pub const VMGENID_WITH_PAGE: Signals = Signals {
        page: Page::Shown,
        ..Signals::VMGENID
    };

    /// A vmgenid device, with the kernel module showing a copy of its page.
    pub const VMGENID_WITH_COPY: Signals = Signals {
        page: Page::Copied,
        ..Signals::VMGENID
    };

    /// A vmgenid and a vmclock device.
    pub const VMGENID_AND_VMCLOCK: Signals = Signals {
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
    /// The devices that notify the guest of a clone.
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

    /// Parameters for the probe on the kernel's command line.
    pub(super) fn command_line(&self) -> String {
        format!("{}{}", Mode::PARAMETER, self.mode.name())
    }
}
