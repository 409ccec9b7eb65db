//! C libraries that are loaded at run time and never unloaded.

use std::ffi::{CStr, c_char};

use libloading::os::unix::Library;

/// The first of `names` that is installed.
///
/// # Errors
/// None is.
pub fn library(names: &[&str]) -> Result<&'static Library, String> {
    // SAFETY: the libraries that are named in this crate (OpenSSL, libsodium, TestU01) may be loaded
    // at any time.
    let mut loaded = names.iter().map(|name| unsafe { Library::new(*name) });
    match loaded.find_map(Result::ok) {
        Some(library) => Ok(Box::leak(Box::new(library))),
        None => Err(format!("{} is not installed", names[0])),
    }
}

/// The libraries that this program is linked with.
pub fn linked() -> &'static Library {
    Box::leak(Box::new(Library::this()))
}

/// The function or the variable `name` of `library`.
///
/// # Errors
/// The library does not have it.
///
/// # Safety
/// It is of the type `T`, a pointer.
pub unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the caller's promise.
    match unsafe { library.get(name) } {
        Ok(symbol) => Ok(*symbol),
        Err(error) => Err(error.to_string()),
    }
}

/// What a library says of itself.
///
/// # Safety
/// `text` is null, or a string that is never freed.
pub unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "unnamed".into();
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}
