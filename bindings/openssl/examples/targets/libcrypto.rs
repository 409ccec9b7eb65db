//! libcrypto, loaded at run time: library contexts with generators of different providers, and
//! RAND_bytes in each.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

type RandBytes = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
type SetDefault = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// The library, never unloaded.
pub struct Libcrypto {
    library: Library,
    rand_bytes: RandBytes,
    set_default: SetDefault,
}

/// A library context (OSSL_LIB_CTX(3)), never freed.
pub struct Context(*mut c_void);

// SAFETY: OSSL_LIB_CTX(3) may be used by all threads.
unsafe impl Sync for Context {}

/// RAND_bytes in the context that a thread has selected.
pub struct ThreadContext(RandBytes);

impl Libcrypto {
    pub fn load() -> Result<Libcrypto, String> {
        let names = ["libcrypto.so.3", "libcrypto.so.4"];
        // SAFETY: a library made for being loaded, whose initialisation has no preconditions.
        let mut found = names
            .iter()
            .filter_map(|name| unsafe { Library::new(*name) }.ok());
        let library = found.next().ok_or("there is no libcrypto of OpenSSL 3")?;
        Ok(Libcrypto {
            rand_bytes: function(&library, c"RAND_bytes")?,
            set_default: function(&library, c"OSSL_LIB_CTX_set0_default")?,
            library,
        })
    }

    /// The version that the library reports.
    pub fn version(&self) -> String {
        let version: Result<unsafe extern "C" fn(c_int) -> *const c_char, _> =
            function(&self.library, c"OpenSSL_version");
        // SAFETY: OpenSSL_version returns a constant string for any number.
        version.map_or("OpenSSL".into(), |version| unsafe {
            CStr::from_ptr(version(0)).to_string_lossy().into_owned()
        })
    }

    /// A context whose generators are all `generator`, from the default provider or from `module`: a
    /// folder and the module's name in it.
    pub fn context(
        &self,
        module: Option<(&Path, &str)>,
        generator: &str,
    ) -> Result<Context, String> {
        type Search = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
        type Load = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
        type SetType = unsafe extern "C" fn(
            *mut c_void,
            *const c_char,
            *const c_char,
            *const c_char,
            *const c_char,
        ) -> c_int;
        let new: unsafe extern "C" fn() -> *mut c_void =
            function(&self.library, c"OSSL_LIB_CTX_new")?;
        let search: Search = function(&self.library, c"OSSL_PROVIDER_set_default_search_path")?;
        let load: Load = function(&self.library, c"OSSL_PROVIDER_load")?;
        let set_type: SetType = function(&self.library, c"RAND_set_DRBG_type")?;
        let c = |text: &str| CString::new(text).map_err(|error| error.to_string());
        let mut names = vec![c("default")?];
        let mut folder = c("/")?;
        if let Some((path, name)) = module {
            let path = std::path::absolute(path).map_err(|error| error.to_string())?;
            folder = c(&path.to_string_lossy())?;
            names.push(c(name)?);
        }
        let generator = c(generator)?;
        // SAFETY: as OSSL_LIB_CTX(3), OSSL_PROVIDER(3) and RAND_set_DRBG_type(3) say: a context
        // that is never freed, and strings.
        let done = unsafe {
            let context = new();
            let null = ptr::null();
            (!context.is_null()
                && search(context, folder.as_ptr()) == 1
                && names
                    .iter()
                    .all(|name| !load(context, name.as_ptr()).is_null())
                && set_type(context, generator.as_ptr(), null, null, null) == 1)
                .then_some(Context(context))
        };
        done.ok_or(format!("no generator {generator:?} of {module:?}"))
    }

    /// Makes this thread's calls use `context`.
    pub fn select(&self, context: &Context) -> Result<ThreadContext, String> {
        // SAFETY: a context that is never freed.
        let before = unsafe { (self.set_default)(context.0) };
        if before.is_null() {
            return Err("OSSL_LIB_CTX_set0_default failed".into());
        }
        Ok(ThreadContext(self.rand_bytes))
    }
}

impl ThreadContext {
    /// Fills `buffer`.
    #[inline]
    pub fn random_bytes(&self, buffer: &mut [u8]) -> Result<(), String> {
        // SAFETY: as RAND_bytes(3) says.
        match unsafe { (self.0)(buffer.as_mut_ptr(), buffer.len() as c_int) } {
            1 => Ok(()),
            _ => Err("RAND_bytes failed".into()),
        }
    }
}

/// A function of the library, whose type is that of `F`.
fn function<F: Copy>(library: &Library, name: &CStr) -> Result<F, String> {
    // SAFETY: each caller's `F` is the type in the function's manual page, and the library stays
    // loaded.
    let symbol = unsafe { library.get::<F>(name.to_bytes_with_nul()) };
    symbol
        .map(|symbol| *symbol)
        .map_err(|error| error.to_string())
}
