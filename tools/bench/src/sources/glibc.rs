//! glibc's arc4random (2.36), found in the C library that this program runs with.

use std::ffi::{c_char, c_void};

use libloading::os::unix::Library;

use super::{Entry, Home, here, loaded};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "arc4random",
    title: "glibc's arc4random",
    group: Group::Library,
    secure: true,
    caveat: "the kernel's generator",
    explained: "arc4random and arc4random_buf of the C library: getrandom(2), through the vDSO from \
                glibc 2.41 on",
    home: Home::Here,
    open: || here(Arc4Random::find()?),
}];

struct Arc4Random {
    number: unsafe extern "C" fn() -> u32,
    fill: unsafe extern "C" fn(*mut c_void, usize),
}

impl Arc4Random {
    fn find() -> Result<Arc4Random, String> {
        let program = Library::this();
        // SAFETY: the functions have these signatures in every C library that has them
        // (arc4random(3)), and the C library is never unloaded.
        unsafe {
            let number = program.get("arc4random");
            let fill = program.get("arc4random_buf");
            match (number, fill) {
                (Ok(number), Ok(fill)) => Ok(Arc4Random {
                    number: *number,
                    fill: *fill,
                }),
                _ => Err("the C library has no arc4random: it came with glibc 2.36".into()),
            }
        }
    }
}

impl Draw for Arc4Random {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length.
        unsafe { (self.fill)(out.as_mut_ptr().cast(), out.len()) };
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        // SAFETY: it takes nothing and always answers.
        unsafe { (self.number)() }
    }
}

/// The version of the C library, where it is glibc.
pub fn version() -> Option<String> {
    type Version = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: gnu_get_libc_version returns a string that is never freed.
    unsafe {
        let program = Library::this();
        let version = program.get::<Version>("gnu_get_libc_version").ok()?;
        Some(loaded::text(version()))
    }
}
