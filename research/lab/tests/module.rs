//! The kernel module that shows vmgenid's page, in guests: what it shows and refuses, that it stays
//! while it is used, and that it does not believe bad firmware. Here: guests with the module's file and a program
//! that uses its device.

pub mod firmware;
pub mod page;

use std::fs;
use std::path::PathBuf;

use squall_guests::debian::{Cache, KernelName};
use squall_guests::fixture::{self, ok, required};
use squall_guests::{Guest, Setup, Snapshot};

/// The module's file in a guest.
pub const MODULE: &str = "/root/squall_vmgenid.ko";

/// An identity as QEMU takes it, and as it stands in memory: its first three parts are little-endian.
pub const IDENTITY: &str = "01234567-89ab-cdef-0123-456789abcdef";
pub const IN_MEMORY: &str = "67452301ab89efcd0123456789abcdef";

/// A kernel, its module, and a program that uses the module's device.
pub struct Workspace {
    guests: fixture::Workspace,
    module: Vec<u8>,
    program: PathBuf,
}

impl Workspace {
    pub fn new(kernel: KernelName) -> Workspace {
        Workspace::with(kernel, false)
    }

    /// The same with a module that shows a copy of the page.
    pub fn with_copy(kernel: KernelName) -> Workspace {
        Workspace::with(kernel, true)
    }

    fn with(kernel: KernelName, shows_copy: bool) -> Workspace {
        let guests = fixture::Workspace::with_kernel(kernel);
        let (program, module) = (guests.path("vmgenid"), guests.path("squall_vmgenid.ko"));
        squall_guests::c_program("vmgenid", &program).expect("a program");
        let cache = required(Cache::open(None));
        squall_guests::module(&cache, kernel, shows_copy, &module).expect("a module");
        Workspace {
            guests,
            module: fs::read(module).expect("a module"),
            program,
        }
    }

    /// Boots a guest that has a vmgenid device with [`IDENTITY`]. The module is not loaded.
    pub fn boot(&self) -> Guest<'_> {
        self.boot_with(Some(IDENTITY), Vec::new())
    }

    /// Boots a guest with this identity, if any, and these ACPI tables.
    pub fn boot_with(&self, vmgenid: Option<&str>, tables: Vec<PathBuf>) -> Guest<'_> {
        let programs = [self.program.as_path()];
        let setup = setup(&programs, vmgenid, tables);
        let mut guest = self.guests.factory.boot(&setup).expect("a guest");
        guest.write_file(MODULE, &self.module).expect("a file");
        guest
    }

    /// A guest in which the module is loaded.
    pub fn boot_and_load(&self) -> Guest<'_> {
        let mut guest = self.boot();
        ok(&mut guest, &format!("insmod {MODULE}"));
        guest
    }

    /// Resumes a guest of [`Workspace::boot`] with this identity.
    pub fn resume(&self, snapshot: &Snapshot, identity: &str) -> Guest<'_> {
        let programs = [self.program.as_path()];
        let setup = setup(&programs, Some(identity), Vec::new());
        self.guests
            .factory
            .resume(&setup, snapshot)
            .expect("a guest")
    }

    /// The path of a file that is removed with the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.guests.path(name)
    }
}

fn setup<'a>(
    programs: &'a [&'a std::path::Path],
    vmgenid: Option<&'a str>,
    acpi_tables: Vec<PathBuf>,
) -> Setup<'a> {
    Setup {
        programs,
        vmgenid,
        acpi_tables,
        // Programs use the module while it is loaded and unloaded.
        cpus: 2,
        ..Setup::default()
    }
}

/// What the module has written to the kernel's log, without the time.
pub fn log(guest: &mut Guest) -> Vec<String> {
    let log = ok(guest, "dmesg");
    let lines = log.lines().filter_map(|line| {
        let (_, output) = line.split_once("squall_vmgenid: ")?;
        // The kernel says itself that this module is not one of its own.
        let is_ours =
            !output.starts_with("loading out-of-tree") && !output.contains("verification");
        is_ours.then(|| output.to_owned())
    });
    lines.collect()
}

/// Fails if the kernel has complained about itself.
#[track_caller]
pub fn is_sound(guest: &mut Guest) {
    let log = ok(guest, "dmesg");
    for complaint in ["BUG:", "WARNING:", "Oops", "Bad page", "stall"] {
        assert!(!log.contains(complaint), "{log}");
    }
}
