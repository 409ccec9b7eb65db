//! Generators of C libraries that have a function for a number and one for a buffer: libsodium's
//! randombytes, and glibc's arc4random (2.36), found in the C library that this program runs with.

use std::ffi::{c_char, c_int, c_void};

use squall_tools::loaded::{Loaded, text};

use super::entry::{Entry, Opened, in_process};
use crate::report::model::Group;
use crate::source::Draw;

const SODIUM: [&str; 3] = ["libsodium.so.26", "libsodium.so.23", "libsodium.so"];

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "libsodium",
        title: "libsodium",
        explained: "randombytes_buf and randombytes_random of libsodium as it is installed: \
                    getrandom(2)",
        open: sodium,
        ..OF_THE_KERNEL
    },
    Entry {
        name: "arc4random",
        title: "glibc's arc4random",
        explained: "arc4random and arc4random_buf of the C library: getrandom(2), through the vDSO \
                    from glibc 2.41 on",
        open: arc4random,
        ..OF_THE_KERNEL
    },
];

const OF_THE_KERNEL: Entry = Entry {
    group: Group::Library,
    secure: true,
    caveat: "the kernel's generator",
    ..Entry::DEFAULT
};

struct Generator {
    number: unsafe extern "C" fn() -> u32,
    fill: unsafe extern "C" fn(*mut c_void, usize),
}

impl Draw for Generator {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length; the library is initialised.
        unsafe { (self.fill)(out.as_mut_ptr().cast(), out.len()) };
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        // SAFETY: it takes nothing; the library is initialised.
        unsafe { (self.number)() }
    }
}

fn load_sodium() -> Result<Loaded, String> {
    // SAFETY: libsodium may be loaded at any time.
    unsafe { Loaded::first_of(&SODIUM) }
}

/// It must be initialised before anything else, and may be initialised again.
fn sodium() -> Opened {
    let library = load_sodium()?;
    // SAFETY: the functions have the signatures of libsodium's documentation.
    unsafe {
        let init: unsafe extern "C" fn() -> c_int = library.symbol("sodium_init")?;
        if init() < 0 {
            return Err("libsodium cannot be initialised".into());
        }
        in_process(Generator {
            number: library.symbol("randombytes_random")?,
            fill: library.symbol("randombytes_buf")?,
        })
    }
}

fn arc4random() -> Opened {
    let library = Loaded::linked();
    let missing = |_| "the C library has no arc4random: it came with glibc 2.36".to_owned();
    // SAFETY: the functions have these signatures in every C library that has them
    // (arc4random(3)).
    unsafe {
        in_process(Generator {
            number: library.symbol("arc4random").map_err(missing)?,
            fill: library.symbol("arc4random_buf").map_err(missing)?,
        })
    }
}

/// The version of libsodium, which loads it.
pub fn sodium_version() -> Option<String> {
    version(&load_sodium().ok()?, "sodium_version_string")
}

/// The version of the C library, where it is glibc.
pub fn glibc_version() -> Option<String> {
    version(&Loaded::linked(), "gnu_get_libc_version")
}

fn version(library: &Loaded, function: &str) -> Option<String> {
    // SAFETY: both functions take nothing and return a string that is never freed.
    unsafe {
        let version: unsafe extern "C" fn() -> *const c_char = library.symbol(function).ok()?;
        Some(text(version()))
    }
}
