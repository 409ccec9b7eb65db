//! The kernel's generator: /dev/urandom, getrandom(2) by a raw system call, and the vDSO.

use std::fs::File;
use std::io::Read;

use squall_tools::failure::cause;

use super::entry::{Entry, Opened, in_process};
use super::vdso::Vdso;
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "urandom",
        title: "/dev/urandom",
        explained: "read(2) of /dev/urandom, kept open",
        open: urandom,
        ..KERNEL
    },
    Entry {
        name: "getrandom",
        title: "the getrandom system call",
        explained: "getrandom(2) by a raw system call, repeated as needed",
        open: || in_process(Syscall),
        ..KERNEL
    },
    Entry {
        name: "vdso",
        title: "the vDSO's getrandom",
        explained: "getrandom of the vDSO (Linux 6.11), with a state of this thread, in the kind of \
                    memory that it asks for",
        open: || in_process(Vdso::find()?),
        ..KERNEL
    },
];

const KERNEL: Entry = Entry {
    group: Group::Kernel,
    secure: true,
    open: || in_process(Syscall),
    ..Entry::DEFAULT
};

/// /dev/urandom, kept open.
struct Urandom(File);

fn urandom() -> Opened {
    let opened = File::open("/dev/urandom");
    in_process(Urandom(
        opened.map_err(|error| format!("/dev/urandom: {}", cause(&error)))?,
    ))
}

impl Draw for Urandom {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        self.0.read_exact(out).expect("/dev/urandom has no end");
    }
}

/// getrandom(2).
struct Syscall;

impl Draw for Syscall {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        fill(out);
    }
}

/// Fills `out` by as many calls as it takes.
#[inline]
pub fn fill(out: &mut [u8]) {
    let mut filled = 0;
    while filled < out.len() {
        let rest = &mut out[filled..];
        // SAFETY: `rest` is writable for its length.
        let got = unsafe { libc::syscall(libc::SYS_getrandom, rest.as_mut_ptr(), rest.len(), 0) };
        filled += usize::try_from(got).expect("getrandom(2) serves this process");
    }
}

/// A system call to the kernel's generator that gives nothing: what it costs to ask it anything.
#[inline]
pub fn ask() {
    // SAFETY: a buffer of no length is not written to.
    unsafe { libc::syscall(libc::SYS_getrandom, std::ptr::null_mut::<u8>(), 0, 0) };
}
