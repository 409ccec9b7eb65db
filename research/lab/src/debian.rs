//! A cache of QEMU, Linux kernels with their headers, compilers, and programs for guests, outside of
//! the source tree. They are Debian packages, fetched by the machine's own apt without root, and
//! unpacked without being installed. One kernel is built from Debian's source by a script.
//!
//! The cache's directory has:
//!
//! - `qemu/`, `qemu-arm64/`, `tools/`, `nginx/`, `compiler/`, `kernels/NAME/` and `headers/NAME/`: an
//!   unpacked tree each, with a `record.json` of its packages;
//! - `apt/`: apt's lists of the archive;
//! - `part/`: the tree that is being built by the process that holds the lock on the file `lock`. It is
//!   moved to its place when it is complete, so no tree is ever incomplete.

mod apt;
mod args;
mod compiler;
mod headers;
mod item;
mod kernel;
mod lists;
mod location;
mod lock;
mod mirror;
mod nginx;
mod programs;
mod qemu;
mod record;
mod report;
mod staging;
mod tools;
mod user_mode;
mod userland;

pub use headers::Headers;
pub use kernel::{Kernel, KernelName};
pub use lists::Architecture;
pub use nginx::Nginx;
pub use qemu::Qemu;
pub use tools::Tools;
pub use user_mode::UserMode;

use std::fs;
use std::path::{Path, PathBuf};

use squall_tools::failure::at;
use squall_tools::{Failure, output};

use apt::Archive;
pub use args::DepsArguments;
use item::Item;
use lists::Release;
use lock::Lock;
use programs::step;
use record::Record;
use staging::Staging;

/// Fetches the requested items and prints what the cache has.
pub fn run(options: &DepsArguments) -> Result<(), Failure> {
    let cache = Cache::open(options.cache.as_deref())?;
    let kernels = match options.only.as_slice() {
        [] => &KernelName::ALL,
        only => only,
    };
    cache.fetch(kernels, options.update)?;
    output::print(&report::of(&cache, kernels)?)
}

/// The cache of QEMU, programs and kernels.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The cache in `directory`, or else in the directory that the environment names. It need not
    /// exist.
    pub fn open(directory: Option<&Path>) -> Result<Cache, Failure> {
        Ok(Cache {
            directory: location::choose(directory, |name| std::env::var_os(name))?,
        })
    }

    /// Fetches QEMU, the tools, nginx, the compilers and `kernels` with their headers if they are
    /// missing or were built from another list of packages. With `update`, also replaces items that are
    /// damaged or have a newer version.
    pub fn fetch(&self, kernels: &[KernelName], update: bool) -> Result<(), Failure> {
        let mut items = item::of(kernels);
        if !update && self.missing(&items)?.is_empty() {
            return Ok(());
        }
        programs::check_installed()?;
        fs::create_dir_all(&self.directory).map_err(at(&self.directory))?;
        let _lock = Lock::take(&self.directory)?;
        // Another run may have fetched them in the meantime.
        if !update {
            items = self.missing(&items)?;
        }
        if items.is_empty() {
            return Ok(());
        }
        let mirror = mirror::find()?;
        let lists = self.directory.join("apt");
        for (release, architecture) in archives() {
            let is_there =
                |item: &&Item| (item.release(), item.architecture()) == (release, architecture);
            let items: Vec<_> = items.iter().filter(is_there).collect();
            if items.is_empty() {
                continue;
            }
            let archive = Archive::open(release, architecture, &lists, &mirror)?;
            for item in items {
                self.fetch_item(&archive, *item)?;
            }
        }
        Ok(())
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
        let item = Item::Qemu(guest);
        let record = self.record(item)?;
        Ok(Qemu::of(guest, &self.place(item), record))
    }

    /// The cached programs for guests.
    pub fn tools(&self) -> Result<Tools, Failure> {
        self.record(Item::Tools)?;
        Ok(Tools::of(self.place(Item::Tools)))
    }

    /// The cached nginx and OpenSSL for guests.
    pub fn nginx(&self) -> Result<Nginx, Failure> {
        let record = self.record(Item::Nginx)?;
        Ok(Nginx::of(self.place(Item::Nginx), record))
    }

    /// The cached kernel `name`.
    pub fn kernel(&self, name: KernelName) -> Result<Kernel, Failure> {
        let item = Item::Kernel(name);
        let record = self.record(item)?;
        Ok(Kernel::of(name, &self.place(item), record))
    }

    /// The cached compilers, as the root directory in which they run.
    pub fn compiler(&self) -> Result<PathBuf, Failure> {
        self.record(Item::Compiler)?;
        Ok(self.place(Item::Compiler))
    }

    /// The cached headers of the kernel `name`.
    pub fn headers(&self, name: KernelName) -> Result<Headers, Failure> {
        let item = Item::Headers(name);
        let record = self.record(item)?;
        Ok(Headers::of(self.place(item), record))
    }

    fn place(&self, item: Item) -> PathBuf {
        self.directory.join(item.directory())
    }

    /// The record of `item`. Fails if it is not in the cache.
    fn record(&self, item: Item) -> Result<Record, Failure> {
        let place = self.place(item);
        item.check(&place)?.ok_or_else(|| {
            let fault = if place.exists() {
                format!("the {item} in the cache were made for another version of the lab")
            } else {
                format!("the cache has no {item}")
            };
            let maker = item.maker();
            Failure::Runtime(format!("{}: {fault}: run `{maker}`", place.display()))
        })
    }

    fn missing(&self, items: &[Item]) -> Result<Vec<Item>, Failure> {
        let mut missing = Vec::new();
        for &item in items {
            if item.check(&self.place(item))?.is_none() {
                missing.push(item);
            }
        }
        Ok(missing)
    }

    /// Fetches `item` and puts it in its place, unless the archive's version is there already.
    fn fetch_item(&self, archive: &Archive, item: Item) -> Result<(), Failure> {
        let packages = item.packages(archive)?;
        let place = self.place(item);
        if let Ok(Some(record)) = item.check(&place)
            && packages.iter().all(|p| record.packages.contains(p))
        {
            step(&format!("{item} {}: the newest", record.version));
            return Ok(());
        }
        step(&format!("{item} {}: fetching", packages[0].version));
        let staging = Staging::begin(&self.directory)?;
        item.download(archive, &packages, staging.packages())?;
        step(&format!("{item} {}: unpacking", packages[0].version));
        let unpacked = staging.unpack()?;
        let release = item.lay_out(staging.unpacked(), staging.tree())?;
        let record = Record {
            version: packages[0].version.clone(),
            release,
            bytes: staging.length()?,
            packages: unpacked,
            list: item.list(),
        };
        staging.finish(&record, &place)
    }
}

/// The archives that packages come from.
fn archives() -> impl Iterator<Item = (Release, Architecture)> {
    let of = |release| Architecture::ALL.map(|architecture| (release, architecture));
    Release::ALL.into_iter().flat_map(of)
}
