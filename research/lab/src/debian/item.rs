//! The items in the cache, and how each is built from packages.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use squall_tools::Failure;

use super::apt::Archive;
use super::compiler;
use super::headers;
use super::kernel::{self, KernelName};
use super::lists::{Package, Release};
use super::nginx;
use super::qemu;
use super::record::{Record, damaged};
use super::tools;

/// An item in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// QEMU for x86-64.
    Qemu,
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

/// QEMU, the tools, nginx, the compilers, and `kernels` with their headers, each once.
pub fn of(kernels: &[KernelName]) -> Vec<Item> {
    let mut items = vec![Item::Qemu, Item::Tools, Item::Nginx, Item::Compiler];
    for &kernel in kernels {
        if !items.contains(&Item::Kernel(kernel)) {
            items.extend([Item::Kernel(kernel), Item::Headers(kernel)]);
        }
    }
    items
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Item::Qemu => f.write_str("QEMU"),
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
            Item::Qemu => "qemu".into(),
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
            Item::Qemu => qemu::RELEASE,
            Item::Tools => tools::RELEASE,
            Item::Nginx => nginx::RELEASE,
            Item::Compiler => compiler::RELEASE,
            Item::Kernel(name) | Item::Headers(name) => name.release(),
        }
    }

    /// The packages to fetch. The first is the one whose version is recorded.
    pub fn packages(self, archive: &Archive) -> Result<Vec<Package>, Failure> {
        let show = |package: &str, suite| Ok(archive.show(package, suite)?.package);
        match self {
            Item::Qemu => Ok(vec![show(qemu::PACKAGE, qemu::suite())?]),
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
            Item::Qemu => archive.download_closure(packages, qemu::suite(), directory),
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
            Item::Qemu => qemu::lay_out(unpacked, tree).map(|()| None),
            Item::Tools => tools::lay_out(unpacked, tree).map(|()| None),
            Item::Nginx => nginx::lay_out(unpacked, tree).map(|()| None),
            Item::Compiler => compiler::lay_out(unpacked, tree).map(|()| None),
            Item::Kernel(_) => kernel::lay_out(unpacked, tree).map(Some),
            Item::Headers(_) => headers::lay_out(unpacked, tree).map(Some),
        }
    }

    /// The lists of packages and files from which its tree is made, where they may change.
    pub fn list(self) -> Vec<String> {
        match self {
            Item::Tools => tools::list(),
            Item::Nginx => nginx::list(),
            Item::Compiler => compiler::list(),
            Item::Qemu | Item::Kernel(_) | Item::Headers(_) => Vec::new(),
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
        let parts: &[&str] = match self {
            Item::Qemu => &qemu::REQUIRED_FILES,
            Item::Tools => &tools::REQUIRED_FILES,
            Item::Nginx => &nginx::REQUIRED_FILES,
            Item::Compiler => &compiler::REQUIRED_FILES,
            Item::Kernel(_) => &kernel::REQUIRED_FILES,
            Item::Headers(_) => &[],
        };
        match parts.iter().find(|part| !place.join(part).exists()) {
            Some(part) => Err(damaged(place, &format!("it has no {part}"))),
            None => Ok(Some(record)),
        }
    }
}
