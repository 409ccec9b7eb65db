//! QEMU's arguments: those of every machine, and what else one has.

use std::ffi::OsString;
use std::path::Path;

/// What every machine has.
#[derive(Debug)]
pub struct Hardware<'a> {
    /// QEMU's name for how instructions are run.
    pub accelerator: &'a str,
    /// QEMU's name for the CPU.
    pub cpu: &'a str,
    /// How many CPUs.
    pub cpus: usize,
    /// Memory, in MiB.
    pub memory_mib: usize,
    /// The kernel's image.
    pub kernel: &'a Path,
    /// What the kernel unpacks and starts.
    pub initramfs: &'a Path,
    /// What the kernel is told.
    pub command_line: &'a str,
}

/// Arguments for QEMU.
#[derive(Debug)]
pub struct Arguments(Vec<OsString>);

impl Arguments {
    /// A machine with nothing but `hardware`, that ends instead of starting again.
    pub fn new(hardware: &Hardware) -> Arguments {
        let alone = ["-nodefaults", "-no-user-config", "-no-reboot"];
        let mut arguments = Arguments(alone.map(OsString::from).into());
        // The control socket is on standard input and output; nothing else is asked for.
        arguments.add("-qmp", "stdio");
        arguments.add("-display", "none");
        arguments.add("-accel", hardware.accelerator);
        arguments.add("-cpu", hardware.cpu);
        arguments.add("-smp", hardware.cpus.to_string());
        arguments.add("-m", hardware.memory_mib.to_string());
        arguments.add("-kernel", hardware.kernel);
        arguments.add("-initrd", hardware.initramfs);
        arguments.add("-append", hardware.command_line);
        arguments
    }

    /// One more option and its value.
    pub fn add(&mut self, option: &str, value: impl Into<OsString>) {
        self.0.extend([option.into(), value.into()]);
    }

    /// All of them.
    pub fn into_list(self) -> Vec<OsString> {
        self.0
    }
}

/// `path` in an option that has several parts: QEMU reads two commas as one.
pub fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}
