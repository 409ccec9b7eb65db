//! C libraries that are loaded at run time, never linked and never unloaded.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::mem::ManuallyDrop;

use libloading::os::unix::Library;

/// A library in this process.
#[derive(Debug)]
pub struct Loaded(ManuallyDrop<Library>);

impl Loaded {
    /// The first of `names` that is installed.
    ///
    /// # Errors
    /// None is.
    ///
    /// # Safety
    /// The libraries may be loaded at any time.
    pub unsafe fn first_of(names: &[&str]) -> Result<Loaded, String> {
        // SAFETY: the caller's promise.
        let mut loaded = names.iter().map(|name| unsafe { Library::new(*name) });
        match loaded.find_map(Result::ok) {
            Some(library) => Ok(Loaded(ManuallyDrop::new(library))),
            None => Err(format!("{} is not installed", names[0])),
        }
    }

    /// The libraries that this program is linked with.
    pub fn linked() -> Loaded {
        Loaded(ManuallyDrop::new(Library::this()))
    }

    /// The function or the variable `name`.
    ///
    /// # Errors
    /// The library does not have it.
    ///
    /// # Safety
    /// It is of the type `T`, a pointer.
    pub unsafe fn symbol<T: Copy>(&self, name: &str) -> Result<T, String> {
        // SAFETY: the caller's promise.
        let symbol = unsafe { self.0.get(name) };
        symbol
            .map(|symbol| *symbol)
            .map_err(|error| error.to_string())
    }
}

/// Copies a string of a library; empty if it is null.
///
/// # Safety
/// `text` is null or ends with a null byte.
pub unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}
