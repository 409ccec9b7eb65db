//! libcrypto, loaded at run time: library contexts with generators of different providers, and
//! RAND_bytes in each.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

type RandBytes = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
type SetDefault = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// The library, for good.
pub struct Libcrypto {
    library: Library,
    rand_bytes: RandBytes,
    set_default: SetDefault,
}

/// A library context (OSSL_LIB_CTX(3)), for good.
pub struct Context(*mut c_void);

// SAFETY: OSSL_LIB_CTX(3) may be used by all threads.
unsafe impl Sync for Context {}

/// Calls of a thread, in the context that it has chosen.
pub struct Calling(RandBytes);

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

    /// What it says it is.
    pub fn version(&self) -> String {
        let version: Result<unsafe extern "C" fn(c_int) -> *const c_char, _> =
            function(&self.library, c"OpenSSL_version");
        // SAFETY: gives a constant string for any number.
        version.map_or("OpenSSL".into(), |version| unsafe {
            CStr::from_ptr(version(0)).to_string_lossy().into_owned()
        })
    }

    /// A context whose generators are all this one, with the module NAME in a folder besides the
    /// default provider.
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
        if let Some((place, name)) = module {
            let place = std::path::absolute(place).map_err(|error| error.to_string())?;
            folder = c(&place.to_string_lossy())?;
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

    /// Makes `context` the one that this thread's calls use.
    pub fn choose(&self, context: &Context) -> Result<Calling, String> {
        // SAFETY: a context that is never freed.
        let before = unsafe { (self.set_default)(context.0) };
        match before.is_null() {
            true => Err("OSSL_LIB_CTX_set0_default failed".into()),
            false => Ok(Calling(self.rand_bytes)),
        }
    }
}

impl Calling {
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
    // SAFETY: the types of those that are asked for are those of their manual pages, and the
    // library stays.
    let symbol = unsafe { library.get::<F>(name.to_bytes_with_nul()) };
    symbol
        .map(|symbol| *symbol)
        .map_err(|error| error.to_string())
}
