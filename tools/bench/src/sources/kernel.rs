//! The kernel's generator: /dev/urandom, /dev/squall of squall's kernel module, getrandom(2) by a raw system call, and getrandom of the vDSO (Linux 6.11).
//!
//! The last is found by the dynamic linker, and given a state of the size and in the kind of memory that it
//! asks for.

use std::ffi::c_void;
use std::fs::File;
use std::io::Read;
use std::ptr;

use squall_tool_base::failure::cause;
use squall_tool_base::loaded::Loaded;

use super::{Entry, Opened, filled_by, in_process};
use crate::report::model::Group;
use crate::sources::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "urandom",
        title: "/dev/urandom",
        explained: "read(2) of /dev/urandom, kept open",
        open: || device("/dev/urandom"),
        ..KERNEL
    },
    Entry {
        name: "dev-squall",
        title: "/dev/squall",
        explained: "read(2) of /dev/squall (squall's kernel module), kept open",
        open: || device("/dev/squall"),
        ..KERNEL
    },
    Entry {
        name: "getrandom",
        title: "the getrandom system call",
        explained: "getrandom(2) by a raw system call, repeated as needed",
        open: || filled_by(fill_by_system_call),
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
    ..Entry::DEFAULT
};

fn device(path: &str) -> Opened {
    let opened = File::open(path);
    let mut device = opened.map_err(|error| format!("{path}: {}", cause(&error)))?;
    filled_by(move |out| device.read_exact(out).expect("the device has no end"))
}

/// Fills `out` by as many calls as it takes.
#[inline]
pub fn fill_by_system_call(out: &mut [u8]) {
    let mut filled = 0;
    while filled < out.len() {
        let rest = &mut out[filled..];
        // SAFETY: `rest` is writable for its length.
        let got = unsafe { libc::syscall(libc::SYS_getrandom, rest.as_mut_ptr(), rest.len(), 0) };
        filled += usize::try_from(got).expect("getrandom(2) serves this process");
    }
}

const NAME: &str = if cfg!(target_arch = "x86_64") {
    "__vdso_getrandom"
} else {
    "__kernel_getrandom"
};

type GetRandom = unsafe extern "C" fn(*mut c_void, usize, u32, *mut c_void, usize) -> isize;

/// The function and a state of its own, for one thread.
#[derive(Debug)]
pub struct Vdso {
    getrandom: GetRandom,
    state: *mut c_void,
    state_len: usize,
}

/// struct vgetrandom_opaque_params of include/uapi/linux/random.h.
#[repr(C)]
#[derive(Default)]
struct Params {
    state_len: u32,
    protection: u32,
    flags: u32,
    reserved: [u32; 13],
}

impl Vdso {
    /// Finds the function and maps a state.
    pub fn find() -> Result<Vdso, String> {
        // SAFETY: the vDSO is loaded already, and its function has this signature.
        let found = unsafe { Loaded::first_of(&["linux-vdso.so.1"])?.symbol(NAME) };
        found
            .ok()
            .and_then(Self::with_state)
            .ok_or("no getrandom in the vDSO: it came with Linux 6.11".into())
    }

    fn with_state(getrandom: GetRandom) -> Option<Vdso> {
        let mut params = Params::default();
        // SAFETY: the documented query: no buffer, a state length of all ones, and room for the
        // parameters.
        let status =
            unsafe { getrandom(ptr::null_mut(), 0, 0, (&raw mut params).cast(), usize::MAX) };
        if status != 0 {
            return None;
        }
        let state_len = params.state_len as usize;
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let state = unsafe {
            libc::mmap(
                ptr::null_mut(),
                state_len,
                params.protection as i32,
                params.flags as i32,
                -1,
                0,
            )
        };
        (state != libc::MAP_FAILED).then_some(Vdso {
            getrandom,
            state,
            state_len,
        })
    }
}

impl Draw for Vdso {
    /// Fills `out` by as many calls as it takes.
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        let mut filled = 0;
        while filled < out.len() {
            let rest = &mut out[filled..];
            // SAFETY: `rest` is writable for its length; the state is as the function asked for
            // and used by this call only.
            let got = unsafe {
                (self.getrandom)(
                    rest.as_mut_ptr().cast(),
                    rest.len(),
                    0,
                    self.state,
                    self.state_len,
                )
            };
            filled += usize::try_from(got).expect("the vDSO serves this process");
        }
    }
}

impl Drop for Vdso {
    fn drop(&mut self) {
        // SAFETY: the state was mapped by `with_state`, and goes with its owner.
        unsafe { libc::munmap(self.state, self.state_len) };
    }
}
