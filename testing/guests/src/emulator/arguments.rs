//! Builds QEMU's arguments.

use std::ffi::OsString;
use std::path::Path;

use crate::debian::Architecture;

/// The hardware and software that every machine has.
#[derive(Debug)]
pub struct Hardware<'a> {
    /// QEMU's name for the accelerator: "kvm" or "tcg".
    pub accelerator: &'a str,
    /// The kind of machine: a PC, or QEMU's own board with arm64.
    pub architecture: Architecture,
    /// QEMU's name for the CPU.
    pub cpu: &'a str,
    /// Number of CPUs.
    pub cpus: usize,
    /// Memory, in MiB.
    pub memory_mib: usize,
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The initramfs, with the first program.
    pub initramfs: &'a Path,
    /// Kernel parameters besides those that every machine gets.
    pub command_line: &'a str,
}

/// Kernel parameters of every guest, besides its console. `no_timer_check` skips the kernel's test of
/// the timer interrupt: on a busy host QEMU's interrupts may come late, and the kernel would give up. There it would also
/// report CPUs that stand still.
const COMMAND_LINE: &str =
    "panic=-1 quiet no_timer_check nosoftlockup rcupdate.rcu_cpu_stall_suppress=1";

/// Arguments for QEMU.
#[derive(Debug)]
pub struct Arguments(Vec<OsString>);

impl Arguments {
    /// Arguments for a machine with nothing but `hardware`, which ends instead of rebooting.
    pub fn new(hardware: &Hardware) -> Arguments {
        let alone = ["-nodefaults", "-no-user-config", "-no-reboot"];
        let mut arguments = Arguments(alone.map(OsString::from).into());
        // The control socket is on standard input and output. There is no display.
        arguments.add("-qmp", "stdio");
        arguments.add("-display", "none");
        let console = match hardware.architecture {
            Architecture::Amd64 => "ttyS0",
            Architecture::Arm64 => {
                arguments.add("-machine", "virt");
                "ttyAMA0"
            }
        };
        arguments.add("-accel", hardware.accelerator);
        arguments.add("-cpu", hardware.cpu);
        arguments.add("-smp", hardware.cpus.to_string());
        arguments.add("-m", hardware.memory_mib.to_string());
        arguments.add("-kernel", hardware.kernel);
        arguments.add("-initrd", hardware.initramfs);
        let more = hardware.command_line;
        arguments.add(
            "-append",
            format!("console={console} {COMMAND_LINE} {more}"),
        );
        arguments
    }

    /// Adds an option and its value.
    pub fn add(&mut self, option: &str, value: impl Into<OsString>) {
        self.0.extend([option.into(), value.into()]);
    }

    /// All arguments in order.
    pub fn into_list(self) -> Vec<OsString> {
        self.0
    }
}

/// Escapes `path` for an option with several parts, where QEMU reads two commas as one.
pub fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}
