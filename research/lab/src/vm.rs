//! Virtual machines under QEMU, with real kernels and the probe as their first program.
//!
//! A guest is booted from a kernel and an initramfs, or resumed from a snapshot, and shares memory with
//! the lab. It ends when its value is dropped, and with the lab, however the lab ends. For guests that run unmodified
//! programs the initramfs has a userland with nginx and OpenSSL, squall's preload library and provider, a C program,
//! and their configuration; or ([`Sandbox`]) one with interpreters and squall's packages for them.

mod guest;
mod memory;
mod sandbox;
mod spec;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use squall_guests::debian::{Architecture, Cache, Qemu, Tree};
use squall_guests::emulator::{self, Artifact, Initramfs, c_program, library};
use squall_tools::failure::at;
use squall_tools::{Failure, Interrupt};

pub use guest::{Guest, Snapshot};
pub use memory::{Counts, Name, Resets, SharedMemory, Trace};
pub use sandbox::Sandbox;
pub use spec::{Accelerator, Cpu, Page, Signals, Spec};
pub use squall_guests::emulator::Host;

/// Builds the probe for x86-64 if necessary, and returns its path.
pub fn probe() -> Result<PathBuf, Failure> {
    emulator::program("squall-probe", "squall-probe")
}

/// A QEMU with a directory for its machines' files, and the probe that runs in them.
#[derive(Debug)]
pub struct Platform {
    /// The CPUs of its machines.
    pub architecture: Architecture,
    pub host: Host,
    pub qemu: Qemu,
    pub probe: PathBuf,
}

impl Platform {
    /// Builds the probe. The host gives up on a guest that makes no progress within `timeout`.
    pub fn open(
        architecture: Architecture,
        cache: &Cache,
        interrupt: &Interrupt,
        timeout: Duration,
    ) -> Result<Platform, Failure> {
        let qemu = cache.qemu_of(architecture)?;
        let host = Host::new(interrupt.clone(), timeout)?;
        let probe = match architecture {
            Architecture::Amd64 => probe(),
            Architecture::Arm64 => Artifact::StaticProgram("squall-probe", "squall-probe").build(),
        };
        // Ctrl-C on the terminal also ends the compiler.
        interrupt.check()?;
        Ok(Platform {
            architecture,
            host,
            qemu,
            probe: probe?,
        })
    }
}

/// The guest's directory for files that are not Debian's.
const DIRECTORY: &str = "programs";

/// OpenSSL's configuration with the provider, and the word in it that stands for the provider's path.
const FRAGMENT: &str = include_str!("../../../bindings/openssl/fragment.cnf");
const PROVIDER_PLACEHOLDER: &str = "{module}";

/// nginx's configuration.
const CONFIGURATION: &str = include_str!("../programs/nginx.conf");

/// Links to directories below /usr, where Debian has all programs and libraries.
const LINKS: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Files that nginx needs: a user and a group, and a directory for the bodies of requests.
const USERS: &str = "root:x:0:0::/:/\n";
const GROUPS: &str = "root:x:0:\n";
const BODIES_DIRECTORY: &str = "var/lib/nginx";

/// The files for the guest, and the tree with nginx.
#[derive(Debug)]
pub struct Programs {
    nginx: Tree,
    /// The files for [`DIRECTORY`], by name. They are read once, so that every machine has the same even if
    /// something is rebuilt.
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Programs {
    /// Builds squall's libraries and the C program, and makes a certificate for nginx.
    pub fn build(host: &Host, nginx: Tree) -> Result<Programs, Failure> {
        let draws = host.file("draws");
        c_program("draws", &draws)?;
        let (preload, provider) = (library("squall-preload")?, library("squall-openssl")?);
        let (certificate, key) = (host.file("certificate.pem"), host.file("key.pem"));
        nginx.run("usr/bin/openssl", "openssl", |command| {
            command
                .args(["req", "-x509", "-newkey", "ec", "-nodes"])
                .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-days", "36500"])
                .args(["-subj", "/CN=squall-lab", "-out"])
                .arg(&certificate)
                .arg("-keyout")
                .arg(&key)
                .env("OPENSSL_CONF", "/dev/null");
        })?;
        let files = [
            ("draws", draws),
            ("certificate.pem", certificate),
            ("key.pem", key),
            ("libsquall-preload.so", preload),
            ("squall.so", provider),
        ];
        let read = |(name, path): (_, PathBuf)| Ok((name, fs::read(&path).map_err(at(&path))?));
        let files = files
            .into_iter()
            .map(read)
            .collect::<Result<_, Failure>>()?;
        Ok(Programs { nginx, files })
    }

    /// nginx's version.
    pub fn version(&self) -> String {
        self.nginx.field("version")
    }

    /// Adds all files to an initramfs.
    fn add(&self, initramfs: &mut Initramfs) -> Result<(), Failure> {
        add_userland(initramfs, &self.nginx.place)?;
        for (name, contents) in &self.files {
            initramfs.contents(&format!("{DIRECTORY}/{name}"), contents.clone());
        }
        let openssl = openssl_configuration(&format!("/{DIRECTORY}/squall.so"));
        for (name, text) in [
            (format!("{DIRECTORY}/openssl.cnf"), openssl.as_str()),
            (format!("{DIRECTORY}/nginx.conf"), CONFIGURATION),
            ("etc/passwd".into(), USERS),
            ("etc/group".into(), GROUPS),
        ] {
            initramfs.contents(&name, text.into());
        }
        initramfs.directory(BODIES_DIRECTORY);
        Ok(())
    }
}

/// OpenSSL's configuration with the provider at this path.
fn openssl_configuration(module: &str) -> String {
    FRAGMENT.replace(PROVIDER_PLACEHOLDER, module)
}

/// Adds a tree of Debian's to an initramfs.
fn add_userland(initramfs: &mut Initramfs, tree: &Path) -> Result<(), Failure> {
    for link in LINKS {
        initramfs.link(link, &Path::new("usr").join(link));
    }
    initramfs.tree("usr", &tree.join("usr"))
}

/// The files in a guest's initramfs.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The probe, which becomes /init.
    pub probe: &'a Path,
    /// The Go program that the probe starts, if any.
    pub go: Option<&'a Path>,
    /// The unmodified programs that the probe asks, if any.
    pub programs: Option<&'a Programs>,
    /// The interpreters that the probe asks, if any.
    pub sandbox: Option<&'a Sandbox>,
    /// Kernel modules, in the order in which they are loaded.
    pub modules: &'a [PathBuf],
}

/// Writes an initramfs to `path`.
pub fn initramfs(path: &Path, contents: &Contents) -> Result<(), Failure> {
    let mut initramfs = Initramfs::new();
    initramfs.program("init", contents.probe)?;
    if let Some(go) = contents.go {
        initramfs.program("go-probe", go)?;
    }
    if let Some(programs) = contents.programs {
        programs.add(&mut initramfs)?;
    }
    if let Some(sandbox) = contents.sandbox {
        sandbox.add(&mut initramfs)?;
    }
    initramfs.directory("modules");
    for (number, module) in contents.modules.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        initramfs.program(&format!("modules/{number:02}-{name}"), module)?;
    }
    initramfs.write(path)
}
