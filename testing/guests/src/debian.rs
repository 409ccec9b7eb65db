//! The cache of QEMU, Linux kernels with their headers, compilers, and programs for guests, which
//! `scripts/lab-deps.sh` fills: a tree each, with a `record` of its packages. No tree is ever incomplete.

mod kernel;
mod qemu;
mod userland;

pub use kernel::{Architecture, Kernel, KernelName};
pub use qemu::Qemu;
pub use userland::{Nginx, Tools};

use std::fs;
use std::io::ErrorKind;
use std::path::{self, Path, PathBuf};

use squall_tools::Failure;
use squall_tools::failure::at;

/// What fills the cache with all but the kernels for arm64 and user-mode Linux.
const MAKER: &str = "make lab-deps";

/// The cache of QEMU, programs and kernels.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
}

/// A tree in the cache.
struct Tree {
    place: PathBuf,
    record: String,
}

impl Tree {
    /// A field of its record.
    fn field(&self, name: &str) -> String {
        let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
        self.record.lines().find_map(value).unwrap_or_default()
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

    /// The cached QEMU for guests with arm64.
    pub fn qemu_for_arm64(&self) -> Result<Qemu, Failure> {
        self.qemu_of(Architecture::Arm64)
    }

    /// The cached QEMU for guests with these CPUs.
    pub fn qemu_of(&self, guest: Architecture) -> Result<Qemu, Failure> {
        let (place, what, maker) = match guest {
            Architecture::Amd64 => ("qemu", "QEMU", MAKER.to_owned()),
            Architecture::Arm64 => (
                "qemu-arm64",
                "QEMU for arm64",
                KernelName::Arm64V6_12.maker(),
            ),
        };
        let tree = self.tree(place, what, &maker)?;
        Ok(Qemu::of(guest, &tree))
    }

    /// The cached programs for guests.
    pub fn tools(&self) -> Result<Tools, Failure> {
        Ok(Tools::of(self.tree("tools", "tools", MAKER)?))
    }

    /// The cached nginx and OpenSSL for guests.
    pub fn nginx(&self) -> Result<Nginx, Failure> {
        Ok(Nginx::of(self.tree("nginx", "nginx", MAKER)?))
    }

    /// The cached kernel `name`.
    pub fn kernel(&self, name: KernelName) -> Result<Kernel, Failure> {
        let what = format!("kernel {}", name.name());
        let place = format!("kernels/{}", name.name());
        Ok(Kernel::of(name, &self.tree(&place, &what, &name.maker())?))
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
