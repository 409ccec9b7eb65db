//! Machines with arm64, emulated on any host: a guest runs a script and switches itself off.
//!
//! A guest has a kernel of Debian, with pages of 4 or 16 KiB, and the C library and OpenSSL that
//! `scripts/arm64.sh` builds for. QEMU's machine has no device that notifies of clones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use squall_tool_base::{Failure, Interrupt};

use squall_guests::debian::{Architecture, Cache, Kernel, KernelName, Qemu};
use squall_guests::emulator::{Arguments, Hardware, Host, Initramfs, Machine, root_of_arm64};

/// The first program, which runs the script.
const INIT: &str = include_str!("arm64/init.sh");

/// The files that a guest takes from the root directory.
const SHELL: &str = "usr/bin/busybox";
const LOADER: &str = "usr/lib/ld-linux-aarch64.so.1";
const LIBRARIES: &str = "usr/lib/aarch64-linux-gnu";
const LIBRARY_NAMES: [&str; 7] = [
    "libc.so.6",
    "libcrypto.so.3",
    "libgcc_s.so.1",
    "libm.so.6",
    "libssl.so.3",
    "libz.so.1",
    "libzstd.so.1",
];
const OPENSSL: &str = "usr/bin/openssl";

/// The line with which a guest reports how its script ended.
const ENDED: &str = "the script ended with ";

/// Runs guests with one kernel.
#[derive(Debug)]
pub struct GuestRunner {
    /// The directory for its files, which is removed with it.
    pub host: Host,
    qemu: Qemu,
    kernel: Kernel,
    root: PathBuf,
}

impl GuestRunner {
    /// Gives up on a guest that has not switched itself off within `timeout`.
    pub fn open(
        kernel: KernelName,
        interrupt: Interrupt,
        timeout: Duration,
    ) -> Result<GuestRunner, Failure> {
        let cache = Cache::open(None)?;
        Ok(GuestRunner {
            kernel: cache.kernel(kernel)?,
            qemu: cache.qemu_of(Architecture::Arm64)?,
            host: Host::new(interrupt, timeout)?,
            root: root_of_arm64()?,
        })
    }

    /// Boots a guest with `files`, each at its path in the guest, which runs `script`. Returns the output of the kernel
    /// and the script on the console. Fails if the script's exit status is not 0.
    pub fn run(&self, files: &[(&str, &Path)], script: &str) -> Result<String, Failure> {
        let number = self.host.next_number()?;
        let initramfs = self.host.file(&format!("initramfs-{number}"));
        self.initramfs(files, script)?.write(&initramfs)?;
        let arguments = Arguments::new(&Hardware {
            accelerator: "tcg",
            architecture: Architecture::Arm64,
            cpu: "max",
            cpus: 2,
            memory_mib: 4096,
            kernel: &self.kernel.image,
            initramfs: &initramfs,
            command_line: "",
        });
        let machine = Machine::start(&self.host, &self.qemu, number, arguments)?;
        let console = machine.end("the script")?;
        let mut lines = console.lines();
        let status = lines.find_map(|line| line.trim().strip_prefix(ENDED));
        match status {
            Some("0") => Ok(console),
            _ => Err(Failure::Runtime(format!("a script failed:\n{console}"))),
        }
    }

    fn initramfs(&self, files: &[(&str, &Path)], script: &str) -> Result<Initramfs, Failure> {
        let mut initramfs = Initramfs::new();
        for directory in ["bin", "etc", "proc", "sys", "tmp"] {
            initramfs.directory(directory);
        }
        initramfs.link("lib", Path::new("usr/lib"));
        let mut add = |name: &str| initramfs.program(name, &self.root.join(name));
        add(SHELL)?;
        add(LOADER)?;
        add(OPENSSL)?;
        for name in LIBRARY_NAMES {
            add(&format!("{LIBRARIES}/{name}"))?;
        }
        for (name, file) in files {
            initramfs.program(name, file)?;
        }
        initramfs.contents("init", INIT.into());
        initramfs.contents("script", script.into());
        Ok(initramfs)
    }
}
