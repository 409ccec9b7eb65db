//! The cache of QEMU, Linux kernels with their headers, compilers, and programs for guests, which
//! `scripts/lab-deps.sh` fills: a tree each, with a `record` of its packages. No tree is ever incomplete.
//!
//! QEMU for each kind of CPU has all its dependencies including the C library, so that its own loader runs it on any
//! x86-64 Linux, from any directory. Programs for guests are trees for the root directories of guests; their own
//! loader runs them on any x86-64 Linux, too.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};

use squall_tool_base::Failure;
use squall_tool_base::failure::at;

/// What fills the cache with all but the kernels for arm64 and user-mode Linux.
const MAKER: &str = "make lab-deps";

/// The cache of QEMU, programs and kernels.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
}

/// A tree in the cache. That of programs is for the root directory of a guest.
#[derive(Debug)]
pub struct Tree {
    pub place: PathBuf,
    record: String,
}

impl Tree {
    /// A field of its record: `version`, or the version of a package.
    pub fn field(&self, name: &str) -> String {
        let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
        self.record.lines().find_map(value).unwrap_or_default()
    }

    /// The command line of the program at `path`, which need not be in the tree, with the tree's libraries on this
    /// machine. The program has `name` as its name.
    pub fn command_line(&self, path: &str, name: &str) -> Vec<OsString> {
        let [loader, libraries, program] =
            [LOADER, LIBRARIES, path].map(|path| self.place.join(path).into_os_string());
        let options = ["--argv0".into(), name.into(), "--library-path".into()];
        let mut line = vec![loader];
        line.extend(options.into_iter().chain([libraries, program]));
        line
    }

    /// Runs its program at `path` on this machine, with `name` as its name. If it fails, the last line of its errors
    /// says why.
    pub fn run(
        &self,
        path: &str,
        name: &str,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<(), Failure> {
        let line = self.command_line(path, name);
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        command.env("LC_ALL", "C").stdin(Stdio::null());
        arguments(&mut command);
        let output = command.output().map_err(at(Path::new(&line[0])))?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let why = errors.trim_end().lines().next_back().map(str::to_owned);
        let why = why.unwrap_or_else(|| output.status.to_string());
        Err(Failure::Runtime(format!(
            "{name} of the lab's tools: {why}"
        )))
    }
}

/// User-mode Linux: a kernel that runs as a process, at the CPU's speed.
#[derive(Debug)]
pub struct UserMode {
    /// The kernel's program.
    pub program: PathBuf,
    /// The directory of its modules, which is named after the kernel's release.
    pub modules: PathBuf,
}

impl Cache {
    /// The cache in `directory`, or else in the directory that the environment names. It need not
    /// exist.
    pub fn open(directory: Option<&Path>) -> Result<Cache, Failure> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let by_environment = || {
            let caches = variable("XDG_CACHE_HOME").map(PathBuf::from);
            let caches = caches.or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")));
            let ours = variable("SQUALL_LAB_CACHE").map(PathBuf::from);
            ours.or_else(|| Some(caches?.join("squall-lab")))
        };
        let chosen = directory.map(Path::to_owned).or_else(by_environment);
        let chosen = chosen.ok_or_else(|| {
            Failure::Runtime("no directory for the cache: set SQUALL_LAB_CACHE or HOME".to_owned())
        })?;
        let directory = path::absolute(&chosen).map_err(at(&chosen))?;
        Ok(Cache { directory })
    }

    /// The cached QEMU for guests with x86-64.
    pub fn qemu(&self) -> Result<Qemu, Failure> {
        self.qemu_of(Architecture::Amd64)
    }

    /// The cached QEMU that emulates kvm-clock, which runs with the libraries and firmware of the other.
    pub fn qemu_with_kvm_clock(&self) -> Result<Qemu, Failure> {
        let maker = "scripts/lab-deps.sh kvm-clock";
        let tree = self.tree("qemu-kvm-clock", "QEMU with kvm-clock", maker)?;
        let mut qemu = self.qemu()?;
        qemu.first_arguments[Qemu::PROGRAM] = tree.place.join("usr/bin/qemu-system-x86_64").into();
        qemu.version = tree.field("version") + " with kvm-clock";
        Ok(qemu)
    }

    /// The cached QEMU for guests with these CPUs.
    pub fn qemu_of(&self, guest: Architecture) -> Result<Qemu, Failure> {
        let (place, what, maker, program) = match guest {
            Architecture::Amd64 => ("qemu", "QEMU", MAKER.to_owned(), "qemu-system-x86_64"),
            Architecture::Arm64 => {
                let maker = KernelName::Arm64V6_12.maker();
                ("qemu-arm64", "QEMU for arm64", maker, "qemu-system-aarch64")
            }
        };
        let tree = self.tree(place, what, &maker)?;
        let libraries = [LIBRARIES, "usr/lib"].map(|path| tree.place.join(path).into_os_string());
        let mut first_arguments = vec![
            "--library-path".into(),
            libraries.join(":".as_ref()),
            tree.place.join("usr/bin").join(program).into(),
        ];
        let firmware = FIRMWARE.map(|path| tree.place.join(path));
        for directory in firmware.into_iter().filter(|path| path.exists()) {
            first_arguments.extend(["-L".into(), directory.into()]);
        }
        Ok(Qemu {
            program: tree.place.join(LOADER),
            first_arguments,
            version: tree.field("version"),
        })
    }

    /// The cached programs for guests: a shell and its utilities, programs for modules, device mapper and encryption,
    /// and udev.
    pub fn tools(&self) -> Result<Tree, Failure> {
        self.tree("tools", "tools", MAKER)
    }

    /// The cached nginx and OpenSSL for guests that serve TLS.
    pub fn nginx(&self) -> Result<Tree, Failure> {
        self.tree("nginx", "nginx", MAKER)
    }

    /// The cached interpreters for guests: Python with NumPy, Node.js and Java.
    pub fn interpreters(&self) -> Result<Tree, Failure> {
        self.tree("sandbox", "interpreters", "scripts/lab-deps.sh sandbox")
    }

    /// What checkpoints processes, by the name by which `scripts/lab-deps.sh` fetches it.
    pub fn checkpointer(&self, name: &str) -> Result<Tree, Failure> {
        self.tree(name, name, &format!("scripts/lab-deps.sh {name}"))
    }

    /// The cached kernel `name`.
    pub fn kernel(&self, name: KernelName) -> Result<Kernel, Failure> {
        let what = format!("kernel {}", name.name());
        let place = format!("kernels/{}", name.name());
        let tree = self.tree(&place, &what, &name.maker())?;
        Ok(Kernel {
            name,
            release: tree.field("release"),
            image: tree.place.join("vmlinuz"),
            modules: tree.place.join("modules"),
            headers: tree.place.join("headers"),
        })
    }

    /// The cached compilers, as the root directory in which they run.
    pub fn compiler(&self) -> Result<PathBuf, Failure> {
        Ok(self.tree("compiler", "compiler", MAKER)?.place)
    }

    /// The cached user-mode Linux.
    pub fn user_mode(&self) -> Result<UserMode, Failure> {
        let tree = self.tree("uml", "user-mode Linux", "scripts/lab-deps.sh uml")?;
        let modules = tree.place.join("usr/lib/uml/modules");
        Ok(UserMode {
            program: tree.place.join("usr/bin/linux.uml"),
            modules: modules.join(tree.field("release")),
        })
    }

    /// The tree at `place`. Fails with the command that makes it if there is none.
    fn tree(&self, place: &str, what: &str, maker: &str) -> Result<Tree, Failure> {
        let place = self.directory.join(place);
        let path = place.join("record");
        match fs::read_to_string(&path) {
            Ok(record) => Ok(Tree { place, record }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::Runtime(format!(
                "{}: the cache has no {what}: run `{maker}`",
                place.display()
            ))),
            Err(error) => Err(at(&path)(error)),
        }
    }
}

/// CPUs of guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    Amd64,
    Arm64,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Architecture; 2] = [Architecture::Amd64, Architecture::Arm64];
}

/// The kernels of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelName {
    /// Debian 12's kernel. Its cloud variant has no driver for vmgenid, so this is the full one.
    V6_1,
    /// The kernel in Debian 12's backports.
    V6_12,
    /// The newest kernel in Debian 13's backports.
    Newest,
    /// Debian 13's kernel for arm64, with pages of 4 KiB.
    Arm64V6_12,
    /// The same with pages of 16 KiB.
    Arm64V6_12Pages16K,
    /// The newest kernel for arm64 in Debian 13's backports, with pages of 4 KiB.
    Arm64Newest,
    /// The same with pages of 16 KiB.
    Arm64NewestPages16K,
    /// 6.12 for arm64 with pages of 64 KiB, which `scripts/arm64-kernel-64k.sh` builds from Debian's source.
    Arm64V6_12Pages64K,
}

impl KernelName {
    /// The kernels for x86-64, which `make lab-deps` fetches.
    pub const ALL: [KernelName; 3] = [KernelName::V6_1, KernelName::V6_12, KernelName::Newest];

    /// Debian's kernels for arm64.
    pub const ARM64: [KernelName; 4] = [
        KernelName::Arm64V6_12,
        KernelName::Arm64V6_12Pages16K,
        KernelName::Arm64Newest,
        KernelName::Arm64NewestPages16K,
    ];

    /// Its name on the command line and in the cache.
    pub fn name(self) -> &'static str {
        match self {
            KernelName::V6_1 => "6.1",
            KernelName::V6_12 => "6.12",
            KernelName::Newest => "newest",
            KernelName::Arm64V6_12 => "6.12-arm64",
            KernelName::Arm64V6_12Pages16K => "6.12-arm64-16k",
            KernelName::Arm64Newest => "newest-arm64",
            KernelName::Arm64NewestPages16K => "newest-arm64-16k",
            KernelName::Arm64V6_12Pages64K => "6.12-arm64-64k",
        }
    }

    /// The CPUs that it runs on.
    pub fn architecture(self) -> Architecture {
        match self {
            KernelName::V6_1 | KernelName::V6_12 | KernelName::Newest => Architecture::Amd64,
            _ => Architecture::Arm64,
        }
    }

    /// What puts it into the cache.
    fn maker(self) -> String {
        match self {
            KernelName::V6_1 | KernelName::V6_12 | KernelName::Newest => MAKER.to_owned(),
            KernelName::Arm64V6_12Pages64K => "scripts/arm64-kernel-64k.sh".to_owned(),
            _ => format!("scripts/lab-deps.sh {}", self.name()),
        }
    }
}

/// A kernel in the cache.
#[derive(Debug)]
pub struct Kernel {
    pub name: KernelName,
    /// The release, as `uname -r` prints it.
    pub release: String,
    /// The image to boot.
    pub image: PathBuf,
    /// The directory of its modules.
    pub modules: PathBuf,
    /// What `/usr/src` has where a module is built for it. There are none for arm64.
    pub headers: PathBuf,
}

impl Kernel {
    /// The file of the module at `path` below the kernel's directory of modules, which may be compressed. None if the
    /// kernel has no such module.
    pub fn module(&self, path: &str) -> Option<PathBuf> {
        let path = self.modules.join("kernel").join(path).into_os_string();
        let with = |end: &str| {
            let mut path = path.clone();
            path.push(end);
            PathBuf::from(path)
        };
        let mut files = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].map(with).into_iter();
        files.find(|file| file.is_file())
    }
}

const FIRMWARE: [&str; 3] = ["usr/share/seabios", "usr/share/qemu", "usr/lib/ipxe/qemu"];

/// QEMU in the cache.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// The program to start, which is the loader.
    pub program: PathBuf,
    /// Arguments for the loader, QEMU's program, and the path of its firmware. QEMU's other arguments
    /// follow.
    pub first_arguments: Vec<OsString>,
    /// The version of the Debian package.
    pub version: String,
}

impl Qemu {
    /// The place of QEMU's program among the arguments for the loader.
    const PROGRAM: usize = 2;
}

/// The directory of a tree's libraries.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A tree's dynamic loader.
const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
