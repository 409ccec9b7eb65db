//! The lab's kernels, and their trees: the image, the modules and, for x86-64, the headers.

use std::path::PathBuf;

use super::{MAKER, Tree};

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
    pub(super) fn maker(self) -> String {
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
    /// The version of the Debian package.
    pub package_version: String,
    /// The image to boot.
    pub image: PathBuf,
    /// The directory of its modules.
    pub modules: PathBuf,
    /// What `/usr/src` has where a module is built for it. There are none for arm64.
    pub headers: PathBuf,
}

impl Kernel {
    pub(super) fn of(name: KernelName, tree: &Tree) -> Kernel {
        Kernel {
            name,
            release: tree.field("release"),
            package_version: tree.field("version"),
            image: tree.place.join("vmlinuz"),
            modules: tree.place.join("modules"),
            headers: tree.place.join("headers"),
        }
    }

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
