//! Guests in which tests load squall's kernel modules.

use std::fs;
use std::path::{Path, PathBuf};

use squall_guests::debian::{Cache, KernelName};
use squall_guests::fixture::{self, ok, required};
use squall_guests::{Guest, Setup, Snapshot};

/// The modules in a guest: of /dev/squall, and of vmgenid's page.
pub const DEVICE: &str = "/root/squall.ko";
pub const PAGE: &str = "/root/squall_vmgenid.ko";

/// The identity of a guest as QEMU takes it, and another one. It is not the complement of the first one, because squall
/// XORs the two words of an identity, and complements give the same result.
pub const IDENTITY: &str = "01234567-89ab-cdef-0123-456789abcdef";
pub const OTHER: &str = "fedcba98-7654-3210-fedc-ba9876543211";

/// A kernel, its modules, and a program that uses their devices.
pub struct Workspace {
    guests: fixture::Workspace,
    /// Additions to a guest's CPU.
    cpu: &'static str,
    /// The modules, by their path in a guest, in the order in which they are loaded.
    modules: Vec<(&'static str, Vec<u8>)>,
    programs: &'static [&'static Path],
}

impl Workspace {
    /// With the C program of this name, and these modules, each built with a variable of make.
    pub fn new(program: &str, kernel: KernelName, modules: &[(&'static str, &str)]) -> Workspace {
        let guests = fixture::Workspace::with_kernel(kernel);
        Workspace::with(guests, "", program, kernel, modules)
    }

    /// The same for guests with kvm-clock, whose CPU has these additions.
    pub fn with_kvm_clock(
        cpu: &'static str,
        program: &str,
        kernel: KernelName,
        modules: &[(&'static str, &str)],
    ) -> Workspace {
        let guests = fixture::Workspace::with_kvm_clock(kernel);
        Workspace::with(guests, cpu, program, kernel, modules)
    }

    fn with(
        guests: fixture::Workspace,
        cpu: &'static str,
        program: &str,
        kernel: KernelName,
        modules: &[(&'static str, &str)],
    ) -> Workspace {
        let path = guests.path(program);
        required(squall_guests::c_program(program, &path));
        let cache = required(Cache::open(None));
        let build = |&(place, variable): &(&'static str, &str)| {
            let name = place.trim_start_matches("/root/").trim_end_matches(".ko");
            let path = guests.path(name);
            required(squall_guests::module(&cache, kernel, name, variable, &path));
            (place, fs::read(path).expect("a module"))
        };
        let modules = modules.iter().map(build).collect();
        let programs = vec![&*path.leak(), fixture::squall()].leak();
        Workspace {
            guests,
            cpu,
            modules,
            programs,
        }
    }

    /// A guest with this vmgenid device, if any.
    pub fn setup<'a>(&self, vmgenid: Option<&'a str>) -> Setup<'a> {
        Setup {
            programs: self.programs,
            vmgenid,
            // Programs use a module while it is loaded and unloaded.
            cpus: 2,
            cpu: self.cpu,
            ..Setup::default()
        }
    }

    /// Boots a guest that has the modules as files.
    pub fn boot(&self, setup: &Setup) -> Guest<'_> {
        let mut guest = required(self.guests.factory.boot(setup));
        for (place, module) in &self.modules {
            guest.write_file(place, module).expect("a file");
        }
        guest
    }

    /// Boots a guest and loads its modules.
    pub fn boot_and_load(&self, setup: &Setup) -> Guest<'_> {
        let mut guest = self.boot(setup);
        for (place, _) in &self.modules {
            ok(&mut guest, &format!("insmod {place}"));
        }
        guest
    }

    /// Resumes a guest with this identity.
    pub fn resume(&self, snapshot: &Snapshot, vmgenid: Option<&str>) -> Guest<'_> {
        required(self.guests.factory.resume(&self.setup(vmgenid), snapshot))
    }

    /// The path of a file that is removed with the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.guests.path(name)
    }
}

/// Fails if the kernel has complained about itself.
#[track_caller]
pub fn is_sound(guest: &mut Guest) {
    let log = ok(guest, "dmesg");
    for complaint in ["BUG:", "WARNING:", "Oops", "Bad page"] {
        assert!(!log.contains(complaint), "{log}");
    }
}
