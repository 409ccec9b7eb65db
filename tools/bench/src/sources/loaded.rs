//! Libraries that are loaded at run time, once, and never unloaded.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

/// What is used of a library, if it is there.
pub struct Loaded<F>(OnceLock<Option<F>>);

impl<F> Loaded<F> {
    pub const fn new() -> Loaded<F> {
        Loaded(OnceLock::new())
    }

    /// What `load` finds under the first of `names` that it does.
    pub fn get(
        &'static self,
        names: &[&str],
        load: fn(&str) -> Option<F>,
    ) -> Result<&'static F, String> {
        let loaded = self
            .0
            .get_or_init(|| names.iter().find_map(|name| load(name)));
        loaded
            .as_ref()
            .ok_or_else(|| format!("{} is not installed", names[0]))
    }
}

/// What a library says of itself.
///
/// # Safety
/// `text` is a string that is never freed.
pub unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
