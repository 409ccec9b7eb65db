//! glibc's arc4random (2.36), found in the C library that this program runs with.

use std::ffi::{c_char, c_void};

use super::entry::{Entry, in_process};
use super::loaded;
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
    open: || in_process(Arc4Random::find()?),
    ..Entry::DEFAULT
}];

struct Arc4Random {
    number: unsafe extern "C" fn() -> u32,
    fill: unsafe extern "C" fn(*mut c_void, usize),
}

impl Arc4Random {
    fn find() -> Result<Arc4Random, String> {
        let missing = |_| "the C library has no arc4random: it came with glibc 2.36".to_owned();
        // SAFETY: the functions have these signatures in every C library that has them
        // (arc4random(3)).
        unsafe {
            Ok(Arc4Random {
                number: loaded::symbol(loaded::linked(), "arc4random").map_err(missing)?,
                fill: loaded::symbol(loaded::linked(), "arc4random_buf").map_err(missing)?,
            })
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
        let version: Version = loaded::symbol(loaded::linked(), "gnu_get_libc_version").ok()?;
        Some(loaded::text(version()))
    }
}
