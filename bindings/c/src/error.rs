//! Error codes, whose meanings never change.

use core::ffi::{c_char, c_int};

use squall::Error;

/// The call succeeded.
pub const SQUALL_OK: c_int = 0;

/// A pointer is null, but must not be. Nothing was written.
pub const SQUALL_E_NULL: c_int = -1;

/// There is no source of randomness: getrandom(2) and /dev/urandom were both refused, as in a
/// sandbox. The buffer must not be used.
pub const SQUALL_E_NO_ENTROPY: c_int = -2;

/// The request reaches past the end of the stream, at byte 2^64. Nothing was written.
pub const SQUALL_E_END_OF_STREAM: c_int = -3;

/// The length exceeds PTRDIFF_MAX, the size of the largest object. Nothing was written.
pub const SQUALL_E_LENGTH: c_int = -4;

/// The code for an error of the library.
#[cold]
pub(crate) fn code(error: Error) -> c_int {
    match error {
        Error::EndOfStream => SQUALL_E_END_OF_STREAM,
        // The other errors belong to functions that the C library does not have.
        _ => SQUALL_E_NO_ENTROPY,
    }
}

/// The meaning of a code, in one line of English without a period.
///
/// The string is never null, never changes and is never freed. Numbers that are not a code get one too.
#[unsafe(no_mangle)]
pub extern "C" fn squall_strerror(code: c_int) -> *const c_char {
    let text = match code {
        SQUALL_OK => c"success",
        SQUALL_E_NULL => c"a pointer is null, but must not be",
        SQUALL_E_NO_ENTROPY => {
            c"no source of randomness: getrandom(2) and /dev/urandom were both refused; allow one of them in this sandbox"
        }
        SQUALL_E_END_OF_STREAM => c"the stream ends at byte 2^64",
        SQUALL_E_LENGTH => c"the length exceeds PTRDIFF_MAX",
        _ => c"not an error code of squall",
    };
    text.as_ptr()
}
