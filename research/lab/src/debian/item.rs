//! The items in the cache, and how each is built from packages.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use squall_tools::Failure;

use super::apt::Archive;
use super::compiler;
use super::headers;
use super::kernel::{self, KernelName};
use super::lists::{Architecture, Package, Release};
use super::nginx;
use super::qemu;
use super::record::{Record, damaged};
use super::tools;

/// An item in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// QEMU for guests with these CPUs.
    Qemu(Architecture),
    /// Programs for guests.
    Tools,
    /// nginx and OpenSSL for guests.
    Nginx,
    /// The compilers that build modules.
    Compiler,
    /// A kernel.
    Kernel(KernelName),
    /// A kernel's headers.
    Headers(KernelName),
}

/// `kernels`, each once, with what runs them: for x86-64 QEMU, the tools, nginx, the compilers, and the
/// kernels' headers; for arm64 QEMU alone.
pub fn of(kernels: &[KernelName]) -> Vec<Item> {
    let mut items = Vec::new();
    let add = |items: &mut Vec<Item>, new: &[Item]| {
        for item in new {
            if !items.contains(item) {
                items.push(*item);
            }
        }
    };
    for &kernel in kernels {
        let qemu = Item::Qemu(kernel.architecture());
        match kernel.architecture() {
            Architecture::Amd64 => {
                add(
                    &mut items,
                    &[qemu, Item::Tools, Item::Nginx, Item::Compiler],
                );
                add(&mut items, &[Item::Kernel(kernel), Item::Headers(kernel)]);
            }
            Architecture::Arm64 => add(&mut items, &[qemu, Item::Kernel(kernel)]),
        }
    }
    items
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Item::Qemu(Architecture::Amd64) => f.write_str("QEMU"),
            Item::Qemu(Architecture::Arm64) => f.write_str("QEMU for arm64"),
            Item::Tools => f.write_str("tools"),
            Item::Nginx => f.write_str("nginx"),
            Item::Compiler => f.write_str("compiler"),
            Item::Kernel(name) => write!(f, "kernel {}", name.name()),
            Item::Headers(name) => write!(f, "headers {}", name.name()),
        }
    }
}

impl Item {
    /// Its directory in the cache.
    pub fn directory(self) -> PathBuf {
        match self {
            Item::Qemu(Architecture::Amd64) => "qemu".into(),
            Item::Qemu(Architecture::Arm64) => "qemu-arm64".into(),
            Item::Tools => "tools".into(),
            Item::Nginx => "nginx".into(),
            Item::Compiler => "compiler".into(),
            Item::Kernel(name) => Path::new("kernels").join(name.name()),
            Item::Headers(name) => Path::new("headers").join(name.name()),
        }
    }

    /// The Debian release of its packages.
    pub fn release(self) -> Release {
        match self {
            Item::Qemu(_) => qemu::RELEASE,
            Item::Tools => tools::RELEASE,
            Item::Nginx => nginx::RELEASE,
            Item::Compiler => compiler::RELEASE,
            Item::Kernel(name) | Item::Headers(name) => name.release(),
        }
    }

    /// The CPUs that its packages are for.
    pub fn architecture(self) -> Architecture {
        match self {
            Item::Kernel(name) | Item::Headers(name) => name.architecture(),
            _ => Architecture::Amd64,
        }
    }

    /// The packages to fetch. The first is the one whose version is recorded.
    pub fn packages(self, archive: &Archive) -> Result<Vec<Package>, Failure> {
        let show = |package: &str, suite| Ok(archive.show(package, suite)?.package);
        match self {
            Item::Qemu(guest) => Ok(vec![show(qemu::package(guest), qemu::suite())?]),
            Item::Tools => {
                let packages = tools::PACKAGES.iter().chain(&tools::WITHOUT_DEPENDENCIES);
                packages.map(|name| show(name, tools::suite())).collect()
            }
            Item::Nginx => {
                let suite = nginx::RELEASE.suite();
                let packages = nginx::PACKAGES.iter();
                packages.map(|name| show(name, suite)).collect()
            }
            Item::Compiler => {
                let suite = compiler::RELEASE.suite();
                let packages = compiler::PACKAGES.iter();
                packages.map(|name| show(name, suite)).collect()
            }
            Item::Kernel(name) => kernel::packages(name, archive),
            Item::Headers(name) => headers::packages(name, archive),
        }
    }

    /// Downloads `packages`, and for programs also their dependencies.
    pub fn download(
        self,
        archive: &Archive,
        packages: &[Package],
        directory: &Path,
    ) -> Result<(), Failure> {
        match self {
            Item::Qemu(_) => archive.download_closure(packages, qemu::suite(), directory),
            Item::Tools => {
                let (alone, others) = packages.iter().cloned().partition::<Vec<_>, _>(|p| {
                    tools::WITHOUT_DEPENDENCIES.contains(&p.name.as_str())
                });
                archive.download_closure(&others, tools::suite(), directory)?;
                archive.download(&alone, directory)
            }
            Item::Compiler => {
                archive.download_closure(packages, compiler::RELEASE.suite(), directory)
            }
            Item::Nginx | Item::Kernel(_) | Item::Headers(_) => {
                archive.download(packages, directory)
            }
        }
    }

    /// Moves the files to keep from `unpacked` to `tree`. For a kernel and its headers, returns its
    /// release.
    pub fn lay_out(self, unpacked: &Path, tree: &Path) -> Result<Option<String>, Failure> {
        match self {
            Item::Qemu(guest) => qemu::lay_out(guest, unpacked, tree).map(|()| None),
            Item::Tools => tools::lay_out(unpacked, tree).map(|()| None),
            Item::Nginx => nginx::lay_out(unpacked, tree).map(|()| None),
            Item::Compiler => compiler::lay_out(unpacked, tree).map(|()| None),
            Item::Kernel(_) => kernel::lay_out(unpacked, tree).map(Some),
            Item::Headers(_) => headers::lay_out(unpacked, tree).map(Some),
        }
    }

    /// The lists of packages, files or options from which its tree is made, where they may change.
    pub fn list(self) -> Vec<String> {
        match self {
            Item::Tools => tools::list(),
            Item::Nginx => nginx::list(),
            Item::Compiler => compiler::list(),
            Item::Kernel(name) => name.options(),
            Item::Qemu(_) | Item::Headers(_) => Vec::new(),
        }
    }

    /// What puts it into the cache.
    pub fn maker(self) -> &'static str {
        match self {
            Item::Kernel(name) => name.maker(),
            _ => "make lab-deps",
        }
    }

    /// The record of the tree at `place`. None unless the tree exists, was made by the current lists,
    /// and has all important files.
    pub fn check(self, place: &Path) -> Result<Option<Record>, Failure> {
        let Some(record) = Record::read(place)? else {
            return Ok(None);
        };
        if record.list != self.list() {
            return Ok(None);
        }
        if matches!(self, Item::Kernel(_) | Item::Headers(_)) && record.release.is_none() {
            return Err(damaged(place, "its record.json names no release"));
        }
        let parts = match self {
            Item::Qemu(guest) => qemu::required_files(guest),
            Item::Tools => tools::REQUIRED_FILES.into(),
            Item::Nginx => nginx::REQUIRED_FILES.into(),
            Item::Compiler => compiler::REQUIRED_FILES.into(),
            Item::Kernel(_) => kernel::REQUIRED_FILES.into(),
            Item::Headers(_) => Vec::new(),
        };
        match parts.iter().find(|part| !place.join(part).exists()) {
            Some(part) => Err(damaged(place, &format!("it has no {part}"))),
            None => Ok(Some(record)),
        }
    }
}
