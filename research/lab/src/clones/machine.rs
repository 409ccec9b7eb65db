//! The machines of the experiments: a kernel, a CPU, and the devices that notify of a clone.

use std::fmt;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::vm::{Cpu, KvmClock, Page, Signals};
use squall_guests::debian::{Architecture, Cache, KernelName, Qemu};
use squall_tool_base::Failure;

/// The names of all machines: those of the campaign, those whose kernel shows vmgenid's page or a copy of it, those with
/// kvm-clock, and those with arm64, where QEMU has no device that notifies of a clone.
const NAMES: [&str; 32] = [
    "6.1",
    "6.1+vmgenid",
    "6.12",
    "6.12+vmgenid",
    "newest+vmgenid+vmclock",
    "6.1+vmgenid+module",
    "6.1+vmgenid+copy",
    "6.12+vmgenid+module",
    "6.12+vmgenid+copy",
    "newest+vmgenid+module",
    "newest+vmgenid+copy",
    "6.1+kvm-clock",
    "6.1+stale-kvm-clock",
    "6.1+vmgenid+kvm-clock",
    "6.1+vmgenid+stale-kvm-clock",
    "6.12+kvm-clock",
    "6.12+stale-kvm-clock",
    "6.12+vmgenid+kvm-clock",
    "6.12+vmgenid+stale-kvm-clock",
    "newest+kvm-clock",
    "newest+stale-kvm-clock",
    "newest+vmgenid+kvm-clock",
    "newest+vmgenid+stale-kvm-clock",
    "6.12-arm64",
    "6.12-arm64+rndr",
    "6.12-arm64+slow",
    "6.12-arm64-16k",
    "6.12-arm64-16k+rndr",
    "newest-arm64",
    "newest-arm64+rndr",
    "newest-arm64-16k",
    "newest-arm64-16k+rndr",
];

/// The number of machines of the campaign, which come first.
const CAMPAIGN: usize = 5;

/// A kernel on a machine with or without clone notification devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    name: &'static str,
    pub kernel: KernelName,
    pub cpu: Cpu,
    /// What notifies the kernel of a clone.
    pub signals: Signals,
}

impl Machine {
    /// Every machine of the campaign.
    pub fn campaign() -> Vec<Machine> {
        NAMES[..CAMPAIGN]
            .iter()
            .map(|name| Machine::of(name))
            .collect()
    }

    /// Reads a name on the command line.
    pub fn parser() -> impl TypedValueParser<Value = Machine> {
        let known = |name: String| NAMES.into_iter().find(|known| *known == name);
        PossibleValuesParser::new(NAMES).map(move |name| Machine::of(known(name).expect("a name")))
    }

    /// The machine of this name, one of [`NAMES`].
    fn of(name: &'static str) -> Machine {
        let (kernel, parts) = name.split_once('+').unwrap_or((name, ""));
        let has = |part| parts.split('+').any(|one| one == part);
        let mut kernels = KernelName::ALL.into_iter().chain(KernelName::ARM64);
        let kernel = kernels.find(|known| known.name() == kernel);
        let kernel = kernel.expect("a kernel of the lab");
        Machine {
            name,
            kernel,
            cpu: match kernel.architecture() {
                Architecture::Amd64 => Cpu::X86_64,
                Architecture::Arm64 if has("rndr") => Cpu::Arm64Max,
                Architecture::Arm64 if has("slow") => Cpu::NeoverseN1WithSlowCounter,
                Architecture::Arm64 => Cpu::NeoverseN1,
            },
            signals: Signals {
                vmgenid: has("vmgenid"),
                page: match (has("module"), has("copy")) {
                    (true, _) => Page::Shown,
                    (_, true) => Page::Copied,
                    _ => Page::Hidden,
                },
                vmclock: has("vmclock"),
                kvm_clock: match (has("kvm-clock"), has("stale-kvm-clock")) {
                    (true, _) => KvmClock::Renewed,
                    (_, true) => KvmClock::Stale,
                    _ => KvmClock::Absent,
                },
            },
        }
    }

    /// The QEMU that emulates it.
    pub fn qemu(self, cache: &Cache) -> Result<Qemu, Failure> {
        match self.signals.kvm_clock {
            KvmClock::Absent => cache.qemu_of(self.architecture()),
            _ => cache.qemu_with_kvm_clock(),
        }
    }

    /// The kind of its CPU.
    pub fn architecture(self) -> Architecture {
        self.kernel.architecture()
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
