//! The kernel's generator: getrandom(2) by a raw system call, and the other ways to it.

use super::urandom::Urandom;
use super::vdso::Vdso;
use super::{Entry, Home, here};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "urandom",
        title: "/dev/urandom",
        explained: "read(2) of /dev/urandom, kept open",
        open: || here(Urandom::open()?),
        ..KERNEL
    },
    Entry {
        name: "getrandom",
        title: "the getrandom system call",
        explained: "getrandom(2) by a raw system call, as often as it takes",
        open: || here(Syscall),
        ..KERNEL
    },
    Entry {
        name: "vdso",
        title: "the vDSO's getrandom",
        explained: "getrandom of the vDSO (Linux 6.11), with a state of this thread, in the kind of \
                    memory that it asks for",
        open: || here(Vdso::find()?),
        ..KERNEL
    },
];

const KERNEL: Entry = Entry {
    name: "",
    title: "",
    group: Group::Kernel,
    secure: true,
    caveat: "",
    explained: "",
    home: Home::Here,
    open: || here(Syscall),
};

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
