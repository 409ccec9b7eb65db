//! libsodium's randombytes, loaded at run time and never linked.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use super::entry::{Entry, Opened, in_process};
use super::loaded;
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
    open,
    ..Entry::DEFAULT
}];

/// It must be initialised before anything else, and may be initialised again.
fn open() -> Opened {
    let functions = functions()?;
    // SAFETY: sodium_init takes nothing, and may be called at any time.
    match unsafe { (functions.init)() } {
        ..0 => Err("libsodium cannot be initialised".into()),
        _ => in_process(Sodium(functions)),
    }
}

struct Functions {
    init: unsafe extern "C" fn() -> c_int,
    number: unsafe extern "C" fn() -> u32,
    fill: unsafe extern "C" fn(*mut c_void, usize),
    version: unsafe extern "C" fn() -> *const c_char,
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
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Functions, String> {
    let library = loaded::library(&NAMES)?;
    // SAFETY: the functions have the documented signatures.
    unsafe {
        Ok(Functions {
            init: loaded::symbol(library, "sodium_init")?,
            number: loaded::symbol(library, "randombytes_random")?,
            fill: loaded::symbol(library, "randombytes_buf")?,
            version: loaded::symbol(library, "sodium_version_string")?,
        })
    }
}
