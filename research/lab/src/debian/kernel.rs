//! Debian's kernels: their names, the packages of one, and the files that are kept.
//!
//! Older kernels are one package with `boot/vmlinuz-RELEASE` and `lib/modules/RELEASE`. Newer ones are
//! three packages, for the kernel, its modules and a list of what is built in, all below
//! `usr/lib/modules/RELEASE`.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use squall_tools::Failure;
use squall_tools::failure::at;

use super::apt::Archive;
use super::lists::{Architecture, Package, Release};
use super::record::Record;
use super::staging::{remove, walk};

/// Files that a kernel's tree must have.
pub const REQUIRED_FILES: [&str; 2] = [IMAGE, MODULES];

const IMAGE: &str = "vmlinuz";
const MODULES: &str = "modules";

/// Prefixes of the names of a kernel's packages.
const PREFIXES: [&str; 4] = [
    "linux-image-",
    "linux-binary-",
    "linux-modules-",
    "linux-base-",
];

/// Modules for hardware that no machine of the lab has, which are half of a kernel not made for clouds.
const UNUSED: [&str; 9] = [
    "kernel/drivers/gpu",
    "kernel/drivers/hwmon",
    "kernel/drivers/iio",
    "kernel/drivers/infiniband",
    "kernel/drivers/media",
    "kernel/drivers/net/ethernet",
    "kernel/drivers/net/wireless",
    "kernel/drivers/staging",
    "kernel/sound",
];

/// The options of the kernel with pages of 64 KiB.
const OPTIONS_64K: &str = include_str!("kernel-64k.config");

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
    /// The kernels for x86-64, which `squall-lab deps` fetches unless it is told otherwise.
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

    /// The Debian release of its packages.
    pub(super) fn release(self) -> Release {
        match self {
            KernelName::V6_1 | KernelName::V6_12 => Release::Bookworm,
            _ => Release::Trixie,
        }
    }

    /// The CPUs that it runs on.
    pub fn architecture(self) -> Architecture {
        match self {
            KernelName::V6_1 | KernelName::V6_12 | KernelName::Newest => Architecture::Amd64,
            _ => Architecture::Arm64,
        }
    }

    pub(super) fn suite(self) -> &'static str {
        match self {
            KernelName::V6_1 | KernelName::Arm64V6_12 | KernelName::Arm64V6_12Pages16K => {
                self.release().suite()
            }
            _ => self.release().backports(),
        }
    }

    /// The package that depends on the kernel's latest version. None if Debian has only the kernel's source.
    fn package(self) -> Option<&'static str> {
        match self {
            KernelName::V6_1 => Some("linux-image-amd64"),
            KernelName::V6_12 | KernelName::Newest => Some("linux-image-cloud-amd64"),
            KernelName::Arm64V6_12 | KernelName::Arm64Newest => Some("linux-image-cloud-arm64"),
            KernelName::Arm64V6_12Pages16K | KernelName::Arm64NewestPages16K => {
                Some("linux-image-arm64-16k")
            }
            KernelName::Arm64V6_12Pages64K => None,
        }
    }

    /// What puts it into the cache.
    pub(super) fn maker(self) -> &'static str {
        match self.package() {
            Some(_) => "make lab-deps",
            None => "scripts/arm64-kernel-64k.sh",
        }
    }

    /// The options that it was built with. Empty for Debian's kernels, which have their own.
    pub(super) fn options(self) -> Vec<String> {
        let text = match self.package() {
            Some(_) => "",
            None => OPTIONS_64K,
        };
        let options = text.lines().filter(|line| line.starts_with("CONFIG_"));
        options.map(str::to_owned).collect()
    }

    /// The package that depends on the headers of the kernel's latest version.
    pub(super) fn headers(self) -> &'static str {
        match self {
            KernelName::V6_1 => "linux-headers-amd64",
            _ => "linux-headers-cloud-amd64",
        }
    }
}

impl FromStr for KernelName {
    type Err = String;

    fn from_str(text: &str) -> Result<KernelName, String> {
        let mut all = KernelName::ALL.into_iter().chain(KernelName::ARM64);
        all.clone().find(|name| name.name() == text).ok_or_else(|| {
            let names = all
                .by_ref()
                .map(KernelName::name)
                .collect::<Vec<_>>()
                .join(", ");
            format!("{text:?} is not known: use one of {names}")
        })
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
    modules: PathBuf,
}

impl Kernel {
    /// The kernel in the tree at `place`, with this record.
    pub(super) fn of(name: KernelName, place: &Path, record: Record) -> Kernel {
        Kernel {
            name,
            release: record.release.unwrap_or_default(),
            package_version: record.version,
            image: place.join(IMAGE),
            modules: place.join(MODULES),
        }
    }

    /// The directory of its modules.
    pub fn modules(&self) -> &Path {
        &self.modules
    }

    /// The file of a module, which may be compressed. `-` and `_` are equal in its name. None if the
    /// kernel has no such module.
    pub fn module(&self, name: &str) -> Option<PathBuf> {
        let mut found = None;
        let walked = walk(&self.modules, &mut |path, metadata| {
            let file = path.file_name().and_then(|file| file.to_str());
            if metadata.is_file() && file.is_some_and(|file| is_module(file, name)) {
                found = Some(path.to_owned());
            }
        });
        walked.ok().and(found)
    }
}

fn is_module(file: &str, name: &str) -> bool {
    let Some((stem, compression)) = file.split_once(".ko") else {
        return false;
    };
    let plain = |name: &str| name.replace('-', "_");
    plain(stem) == plain(name) && ["", ".xz", ".zst", ".gz"].contains(&compression)
}

/// The packages of the kernel `name`: its package and those dependencies that belong to the kernel,
/// without those that only an installation needs.
pub fn packages(name: KernelName, archive: &Archive) -> Result<Vec<Package>, Failure> {
    let is_part = |package: &str| PREFIXES.iter().any(|prefix| package.starts_with(prefix));
    let package = name.package().ok_or_else(|| {
        Failure::Runtime(format!(
            "Debian has no kernel {}: run {}",
            name.name(),
            name.maker()
        ))
    })?;
    closure(package, name.suite(), is_part, archive)
}

/// `first` and those of its dependencies in `suite`, and of theirs, that are a part of the same.
pub(super) fn closure(
    first: &str,
    suite: &str,
    is_part: impl Fn(&str) -> bool,
    archive: &Archive,
) -> Result<Vec<Package>, Failure> {
    let mut wanted = vec![first.to_owned()];
    let mut packages = Vec::new();
    let mut next = 0;
    while let Some(package) = wanted.get(next) {
        let stanza = archive.show(package, suite)?;
        packages.push(stanza.package);
        for needed in stanza.depends {
            if is_part(&needed) && !wanted.contains(&needed) {
                wanted.push(needed);
            }
        }
        next += 1;
    }
    Ok(packages)
}

/// Moves a kernel's image and modules to `tree` and returns its release.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<String, Failure> {
    let found = ["usr/lib/modules", "lib/modules"]
        .into_iter()
        .find_map(|place| release_in(&unpacked.join(place)));
    let (modules, release) = found.ok_or_else(|| no_kernel("modules"))?;
    let images = [
        modules.join("vmlinuz"),
        unpacked.join(format!("boot/vmlinuz-{release}")),
    ];
    let image = images.iter().find(|image| image.is_file());
    let image = image.ok_or_else(|| no_kernel("kernel"))?;
    fs::rename(image, tree.join(IMAGE)).map_err(at(image))?;
    for unused in UNUSED {
        let path = modules.join(unused);
        remove(&path).map_err(at(&path))?;
    }
    fs::rename(&modules, tree.join(MODULES)).map_err(at(&modules))?;
    Ok(release)
}

/// The directory of a kernel's modules in `directory`, and the kernel's release.
fn release_in(directory: &Path) -> Option<(PathBuf, String)> {
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    let entry = entries.find(|entry| entry.path().join("kernel").is_dir())?;
    Some((entry.path(), entry.file_name().into_string().ok()?))
}

fn no_kernel(what: &str) -> Failure {
    Failure::Runtime(format!(
        "the kernel's packages have no {what} in the expected place"
    ))
}
