//! The library's version, and its status on this machine.

use core::ffi::{c_char, c_int};

use squall_binding_base::facts;

use crate::buffer;
use crate::error::code;
use crate::start::{INITIALISER, Initialiser};

/// Links the initialiser with this module.
#[used]
static LINKED_INITIALISER: &Initialiser = &INITIALISER;

/// The library's version, such as `0.1.0`. The string is never null, never changes and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn squall_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The protections of this process on this machine and the work of its generator so far, as one line
/// of JSON without a line break: an object whose keys are those of `squall status --json`. Later
/// versions may add keys, but remove none.
///
/// Writes at most `len` bytes to `out`, including a null byte at the end, and cuts off the rest of the
/// text. 2048 bytes suffice. If `len` is 0 it writes nothing, and `out` may be null.
///
/// Returns the length of the whole text in bytes, without the null byte; the text is complete if that
/// is less than `len`. On an error it returns one of the codes of `squall_fill`, which are negative.
///
/// Any thread may call it, but signal handlers may not, because it allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_status_json(out: *mut c_char, len: usize) -> c_int {
    // SAFETY: the header says so to the caller.
    let out = match unsafe { buffer::writable(out.cast(), len) } {
        Ok(out) => out,
        Err(code) => return code,
    };
    let text = match facts::json() {
        Ok(text) => text,
        Err(error) => return code(error),
    };
    if let Some(space) = out.len().checked_sub(1) {
        let written = space.min(text.len());
        out[..written].copy_from_slice(&text.as_bytes()[..written]);
        out[written] = 0;
    }
    text.len() as c_int
}
