//! A loading of the provider, and OpenSSL's core as the provider uses it: its version, its error queue,
//! and its memory for secrets.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::{mem, ptr};

use crate::abi::{Dispatch, Param, core_function, data_type};

type GetParams = unsafe extern "C" fn(*const c_void, *mut Param) -> c_int;
type NewError = unsafe extern "C" fn(*const c_void);
type SetErrorDebug = unsafe extern "C" fn(*const c_void, *const c_char, c_int, *const c_char);
type VsetError = unsafe extern "C" fn(*const c_void, u32, *const c_char, *const c_void);
type SecureMalloc = unsafe extern "C" fn(usize, *const c_char, c_int) -> *mut c_void;
type SecureClearFree = unsafe extern "C" fn(*mut c_void, usize, *const c_char, c_int);

/// The source that errors and allocations name.
const FILE: &CStr = c"squall";

/// OpenSSL's core, for one loading of the provider. A function is `None` if the core lacks it.
#[derive(Clone, Copy)]
pub struct Host {
    handle: *const c_void,
    get_params: Option<GetParams>,
    new_error: Option<NewError>,
    set_error_debug: Option<SetErrorDebug>,
    vset_error: Option<VsetError>,
    secure_malloc: Option<SecureMalloc>,
    secure_clear_free: Option<SecureClearFree>,
}

/// One loading of the provider; OpenSSL may have several, one in each library context.
pub struct Provider {
    /// The core that loaded it.
    pub host: Host,
}

impl Host {
    /// The core that called `OSSL_provider_init` with these arguments.
    ///
    /// # Safety
    /// `functions` is null or a table of the core's functions, each of the type that
    /// provider-base(7) says, valid as long as the provider is loaded, and `handle` is theirs.
    pub unsafe fn new(handle: *const c_void, functions: *const Dispatch) -> Host {
        // SAFETY: the caller's promise; the types are those of provider-base(7).
        unsafe {
            Host {
                handle,
                get_params: function(functions, core_function::GET_PARAMS),
                new_error: function(functions, core_function::NEW_ERROR),
                set_error_debug: function(functions, core_function::SET_ERROR_DEBUG),
                vset_error: function(functions, core_function::VSET_ERROR),
                secure_malloc: function(functions, core_function::SECURE_MALLOC),
                secure_clear_free: function(functions, core_function::SECURE_CLEAR_FREE),
            }
        }
    }

    /// The version that the core reports.
    pub fn version(&self) -> Option<&CStr> {
        let get_params = self.get_params?;
        let mut version: *const c_char = ptr::null();
        let mut asked = [
            Param {
                data: (&raw mut version).cast(),
                ..Param::offered(c"openssl-version", data_type::UTF8_PTR, 0)
            },
            Param::END,
        ];
        // SAFETY: the handle is the core's, the parameters end with one without a key, and the first
        // has room for a pointer.
        let answered = unsafe { get_params(self.handle, asked.as_mut_ptr()) } == 1;
        if !answered || version.is_null() {
            return None;
        }
        // SAFETY: the core answers with a string that lives as long as the core.
        Some(unsafe { CStr::from_ptr(version) })
    }

    /// Adds an error to OpenSSL's queue: the reason, the name of the failed function, and an
    /// explanation, which must not contain `%`.
    pub fn raise(&self, reason: u32, function: &CStr, text: Option<&CStr>) {
        let (Some(new), Some(debug), Some(set)) =
            (self.new_error, self.set_error_debug, self.vset_error)
        else {
            return;
        };
        let text = text.map_or(ptr::null(), CStr::as_ptr);
        // An empty argument list, as large as any ABI's va_list; nothing is taken from it.
        let no_arguments = [0u64; 8];
        // SAFETY: the handle is the core's, the strings are constants, and the text takes no
        // arguments.
        unsafe {
            new(self.handle);
            debug(self.handle, FILE.as_ptr(), 0, function.as_ptr());
            set(self.handle, reason, text, no_arguments.as_ptr().cast());
        }
    }

    /// Allocates `len` bytes for a secret, in locked memory if the program has set up OpenSSL's secure
    /// heap. Null if there is none.
    pub fn secure_malloc(&self, len: usize) -> *mut u8 {
        match self.secure_malloc {
            // SAFETY: allocates; the file's name is a constant.
            Some(allocate) => unsafe { allocate(len, FILE.as_ptr(), 0) }.cast(),
            None => ptr::null_mut(),
        }
    }

    /// Erases and frees memory from [`Host::secure_malloc`].
    ///
    /// # Safety
    /// `bytes` came from [`Host::secure_malloc`] with this length, and is not used any more.
    pub unsafe fn secure_clear_free(&self, bytes: *mut u8, len: usize) {
        if let Some(free) = self.secure_clear_free {
            // SAFETY: the caller's promise.
            unsafe { free(bytes.cast(), len, FILE.as_ptr(), 0) };
        }
    }
}

/// The function with the number `id` in `table`.
///
/// # Safety
/// `table` is null or ends with the number 0, and `F` is the type of that function's pointer.
unsafe fn function<F: Copy>(mut table: *const Dispatch, id: c_int) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    if table.is_null() {
        return None;
    }
    loop {
        // SAFETY: the entry is in the table, whose end the loop does not pass.
        let entry = unsafe { &*table };
        match entry.id {
            0 => return None,
            found if found == id && !entry.function.is_null() => {
                // SAFETY: a function pointer of that type, by the caller's promise.
                return Some(unsafe { mem::transmute_copy(&entry.function) });
            }
            // SAFETY: this was not the last entry.
            _ => table = unsafe { table.add(1) },
        }
    }
}
