//! libsodium's randombytes, loaded at run time and never linked.

use std::ffi::{c_char, c_int, c_void};

use libloading::Library;

use super::loaded::{self, Loaded};
use super::{Entry, Home, Opened, here};
use crate::report::model::Group;
use crate::source::Draw;

const NAMES: [&str; 3] = ["libsodium.so.26", "libsodium.so.23", "libsodium.so"];

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "libsodium",
    title: "libsodium",
    group: Group::Library,
    secure: true,
    caveat: "the kernel's generator",
    explained: "randombytes_buf and randombytes_random of libsodium as it is installed: getrandom(2)",
    home: Home::Here,
    open,
}];

/// It must be initialised before anything else, and may be so again.
fn open() -> Opened {
    let functions = functions()?;
    // SAFETY: sodium_init takes nothing, and may be called at any time.
    match unsafe { (functions.init)() } {
        ..0 => Err("libsodium cannot be initialised".into()),
        _ => here(Sodium(functions)),
    }
}

struct Functions {
    init: unsafe extern "C" fn() -> c_int,
    number: unsafe extern "C" fn() -> u32,
    fill: unsafe extern "C" fn(*mut c_void, usize),
    version: unsafe extern "C" fn() -> *const c_char,
    _library: Library,
}

struct Sodium(&'static Functions);

impl Draw for Sodium {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length; the library is initialised.
        unsafe { (self.0.fill)(out.as_mut_ptr().cast(), out.len()) };
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        // SAFETY: the library is initialised.
        unsafe { (self.0.number)() }
    }
}

/// The version of the library that is loaded.
pub fn version() -> Option<String> {
    let functions = functions().ok()?;
    // SAFETY: sodium_version_string returns a string that is never freed.
    Some(unsafe { loaded::text((functions.version)()) })
}

fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: Loaded<Functions> = Loaded::new();
    FUNCTIONS.get(&NAMES, load)
}

fn load(name: &str) -> Option<Functions> {
    // SAFETY: libsodium may be loaded at any time; the functions have the documented signatures
    // and are kept beside the library, which is never unloaded.
    unsafe {
        let library = Library::new(name).ok()?;
        Some(Functions {
            init: *library.get("sodium_init").ok()?,
            number: *library.get("randombytes_random").ok()?,
            fill: *library.get("randombytes_buf").ok()?,
            version: *library.get("sodium_version_string").ok()?,
            _library: library,
        })
    }
}
