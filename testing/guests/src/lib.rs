//! Guests for tests: programs of Debian and of this workspace use drives there, with device mapper,
//! injected faults, unplugged drives and power cuts.
//!
//! A guest has a real kernel, a shell, and an agent that executes the lab's requests.

pub mod commands;
pub mod debian;
pub mod emulator;
pub mod fixture;
mod guest;
mod kernel_image;
mod modules;
pub mod needs;
mod setup;

use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use squall_tool_base::failure::at;
use squall_tool_base::{Failure, Interrupt};

use crate::debian::{Architecture, Cache, KernelName, Qemu, Tree, UserMode};
use crate::emulator::{Arguments, Hardware, Host, Initramfs, Machine, escaped};
use modules::Modules;

pub use crate::emulator::{c_program, module, program};
pub use guest::{CommandOutput, Guest, Job, Snapshot};
pub use setup::{Bus, Drive, Setup};

/// The agent, a guest's first program.
const AGENT: &str = include_str!("agent.sh");

/// The script that starts udev in a guest.
const UDEV: &str = include_str!("udev.sh");

/// QEMU's CPU: all that it emulates but the instructions that copy and fill memory, because it executes these byte
/// by byte.
const CPU: &str = "max,-erms,-fsrm";

/// Kernel parameters of every guest. They skip a third of an emulated boot that no test needs: self-tests of crypto
/// code, the random numbers of CPU jitter, built-in certificates, encrypted keys, registrations for BPF, IPv6, and
/// moving the kernel to a random address.
const COMMAND_LINE: &str = "nokaslr ipv6.disable=1 cryptomgr.notests initcall_blacklist=crypto_kdf108_init,\
    init_encrypted,jent_mod_init,load_system_certificate_list,bpf_tcp_ca_kfunc_init,bpf_dummy_struct_ops_init";

/// Kernel parameters of user-mode Linux. The agent uses its first serial line.
const USER_MODE: &str = "rdinit=/init quiet agent=/dev/ttyS0";

/// How many bytes a serial line of user-mode Linux takes without losing some: its buffer has 4096.
const LINE: usize = 3072;

/// Links to directories below /usr, where Debian has all programs and libraries.
const LINKS: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Other directories in a guest's root.
const DIRECTORIES: [&str; 8] = ["etc", "mnt", "proc", "root", "run", "sys", "tmp", "var"];

/// How guests are started.
#[derive(Debug)]
enum Start {
    /// By QEMU, with this kernel.
    Qemu(Qemu, PathBuf),
    /// As this program: user-mode Linux.
    UserMode(PathBuf),
}

/// Boots guests: a kernel with its modules, what runs it, and programs for guests.
#[derive(Debug)]
pub struct GuestFactory {
    host: Host,
    start: Start,
    tools: Tree,
    modules: Arc<Modules>,
}

impl GuestFactory {
    /// A factory of guests that this QEMU runs with this kernel. It gives up on a guest that makes no progress within
    /// `timeout`.
    pub fn with_kernel(
        cache: &Cache,
        qemu: Qemu,
        kernel: KernelName,
        interrupt: Interrupt,
        timeout: Duration,
    ) -> Result<GuestFactory, Failure> {
        let kernel = cache.kernel(kernel)?;
        let start = Start::Qemu(qemu, kernel_image::unpacked(&kernel.image)?);
        let host = Host::new(interrupt, timeout)?;
        GuestFactory::with(cache, host, start, &kernel.release, &kernel.modules)
    }

    /// A factory of guests that are processes, at the CPU's speed. They have one CPU, of which the kernel uses no
    /// instructions for AES, and no firmware or snapshots.
    pub fn user_mode(
        cache: &Cache,
        interrupt: Interrupt,
        timeout: Duration,
    ) -> Result<GuestFactory, Failure> {
        let UserMode { program, modules } = cache.user_mode()?;
        let host = Host::new(interrupt, timeout)?;
        let release = modules.file_name().unwrap_or_default().to_string_lossy();
        GuestFactory::with(cache, host, Start::UserMode(program), &release, &modules)
    }

    fn with(
        cache: &Cache,
        host: Host,
        start: Start,
        release: &str,
        modules: &Path,
    ) -> Result<GuestFactory, Failure> {
        let tools = cache.tools()?;
        let modules = Modules::of(release, modules, &tools, &host.file("modules"))?;
        Ok(GuestFactory {
            host,
            start,
            tools,
            modules,
        })
    }

    /// Boots a guest and waits until it accepts commands. If its kernel panics before, its console is printed, and it is
    /// booted once more: an emulated kernel panicked once, with two CPUs, before anything of ours ran.
    pub fn boot(&self, setup: &Setup) -> Result<Guest<'_>, Failure> {
        let mut guest = self.start(setup, None)?;
        if let Err(failure) = guest.wait_until_ready() {
            let console = guest.console();
            if !console.contains("Kernel panic") {
                return Err(failure);
            }
            eprintln!("a guest is booted once more, because its kernel panicked:\n{console}");
            guest = self.start(setup, None)?;
            guest.wait_until_ready()?;
        }
        Ok(guest)
    }

    /// Resumes a guest from a snapshot. Only the vmgenid device's identity may differ in `setup`. Jobs
    /// continue, and keep their numbers.
    pub fn resume(&self, setup: &Setup, snapshot: &Snapshot) -> Result<Guest<'_>, Failure> {
        let mut guest = self.start(setup, Some(&snapshot.path))?;
        guest.wait_until_loaded(snapshot)?;
        Ok(guest)
    }

    fn start(&self, setup: &Setup, snapshot: Option<&Path>) -> Result<Guest<'_>, Failure> {
        let number = self.host.next_number()?;
        let initramfs = self.host.file(&format!("initramfs-{number}"));
        self.initramfs(setup)?.write(&initramfs)?;
        let (qemu, kernel) = match &self.start {
            Start::Qemu(qemu, kernel) => (qemu, kernel),
            Start::UserMode(program) => {
                let mut command = Command::new(program);
                command.arg(format!("initrd={}", initramfs.display()));
                command.arg(format!("mem={}M", setup.memory_mib));
                for (number, drive) in setup.drives.iter().enumerate() {
                    let path = drive.path.display();
                    command.arg(format!("ubd{number}={path},,{}", drive.serial));
                }
                command.args(USER_MODE.split(' ').chain(setup.command_line.split(' ')));
                let (machine, stream) = Machine::start_user_mode(&self.host, number, command)?;
                return Guest::new(machine, (stream, LINE), vec![initramfs], Vec::new());
            }
        };
        let socket = self.host.file(&format!("agent-{number}"));
        let mut arguments = self.arguments(setup, kernel, &initramfs);
        let port = format!(
            "socket,id=agent,server=on,wait=off,path={}",
            escaped(&socket)
        );
        arguments.add("-chardev", port);
        arguments.add("-device", "virtio-serial-pci");
        arguments.add("-device", "virtserialport,chardev=agent,name=agent");
        setup.add_drives(&mut arguments);
        setup.add_firmware(&mut arguments);
        if let Some(snapshot) = snapshot {
            arguments.add("-incoming", format!("file:{}", escaped(snapshot)));
        }
        let machine = Machine::start(&self.host, qemu, number, arguments)?;
        let agent = UnixStream::connect(&socket).map_err(at(&socket))?;
        let files = vec![socket, initramfs];
        Guest::new(machine, (agent, usize::MAX), files, setup.drives.clone())
    }

    fn arguments(&self, setup: &Setup, kernel: &Path, initramfs: &Path) -> Arguments {
        Arguments::new(&Hardware {
            accelerator: "tcg",
            architecture: Architecture::Amd64,
            cpu: &format!("{CPU}{}", setup.cpu),
            cpus: setup.cpus,
            memory_mib: setup.memory_mib,
            kernel,
            initramfs,
            command_line: &format!("{COMMAND_LINE} {}", setup.command_line),
        })
    }

    fn initramfs(&self, setup: &Setup) -> Result<Initramfs, Failure> {
        let mut initramfs = Initramfs::new();
        for directory in DIRECTORIES {
            initramfs.directory(directory);
        }
        for link in LINKS {
            initramfs.link(link, &Path::new("usr").join(link));
        }
        initramfs.tree("usr", &self.tools.place.join("usr"))?;
        for utility in self.utilities()? {
            initramfs.link(&format!("usr/bin/{utility}"), Path::new("busybox"));
        }
        for program in setup.programs {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            initramfs.program(&format!("usr/bin/{name}"), program)?;
        }
        let drivers = match self.start {
            Start::Qemu(..) => setup.drivers(),
            // dm-crypt needs encrypted_keys, which cannot be loaded before these.
            Start::UserMode(_) => vec!["cbc", "ecb"],
        };
        let mut modules = [setup.modules, &drivers].concat();
        if setup.crypto {
            modules.extend(self.modules.crypto());
        }
        self.modules.add(&modules, &mut initramfs)?;
        initramfs.contents("etc/modules", drivers.join(" ").into_bytes());
        initramfs.contents("init", AGENT.into());
        initramfs.contents("usr/sbin/start-udev", UDEV.into());
        Ok(initramfs)
    }

    /// Names of busybox's utilities that no program of the tools provides.
    fn utilities(&self) -> Result<BTreeSet<String>, Failure> {
        let tools = &self.tools.place;
        let busybox = tools.join("usr/bin/busybox");
        let listed = Command::new(&busybox).arg("--list").output();
        let listed = listed.map_err(at(&busybox))?;
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        let is_installed = |name: &str| {
            let directories = ["usr/bin", "usr/sbin"];
            directories
                .iter()
                .any(|directory| tools.join(directory).join(name).exists())
        };
        let missing = names.lines().filter(|name| !is_installed(name));
        Ok(missing.map(str::to_owned).collect())
    }
}
