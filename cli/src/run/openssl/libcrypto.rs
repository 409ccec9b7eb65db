//! OpenSSL's libcrypto, loaded at run time and never unloaded.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::ptr;

use squall_tools::loaded::{Loaded, text};

/// The names of the versions that have providers.
const NAMES: [&str; 2] = ["libcrypto.so.3", "libcrypto.so.4"];

type Pointer = *mut c_void;
type Text = *const c_char;
type Fill = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
type Get0 = unsafe extern "C" fn(Pointer) -> Pointer;
type GetText = unsafe extern "C" fn(Pointer) -> Text;
type GetError =
    unsafe extern "C" fn(*mut Text, *mut c_int, *mut Text, *mut Text, *mut c_int) -> c_ulong;

/// The role of a generator in OpenSSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The parent of the other generators.
    Primary,
    /// The generator of RAND_bytes.
    Public,
    /// The generator of RAND_priv_bytes, for secrets.
    Private,
}

/// A generator that OpenSSL uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    pub name: String,
    pub provider: String,
}

#[derive(Debug)]
pub struct Libcrypto {
    init: unsafe extern "C" fn(u64, Pointer) -> c_int,
    version: unsafe extern "C" fn(c_int) -> Text,
    public: Fill,
    private: Fill,
    get0: [Get0; 3],
    get0_rand: Get0,
    rand_name: GetText,
    rand_provider: Get0,
    provider_name: GetText,
    configuration: unsafe extern "C" fn() -> *mut c_char,
    new_context: unsafe extern "C" fn() -> Pointer,
    load_configuration: unsafe extern "C" fn(Pointer, Text) -> c_int,
    load_provider: unsafe extern "C" fn(Pointer, Text) -> Pointer,
    get_error: GetError,
    reason: unsafe extern "C" fn(c_ulong) -> Text,
}

impl Libcrypto {
    /// Loads libcrypto, and lets it read its configuration as programs do.
    ///
    /// # Errors
    /// libcrypto is not installed, or it is older than OpenSSL 3.
    pub fn load() -> Result<Libcrypto, String> {
        const INIT_LOAD_CONFIG: u64 = 0x40;
        // SAFETY: libcrypto may be loaded at any time.
        let library = unsafe { Loaded::first_of(&NAMES) }?;
        let libcrypto =
            Libcrypto::from_library(&library).map_err(|error| format!("{}: {error}", NAMES[0]))?;
        // SAFETY: null settings are allowed. A later draw shows whether this succeeded.
        unsafe { (libcrypto.init)(INIT_LOAD_CONFIG, ptr::null_mut()) };
        Ok(libcrypto)
    }

    fn from_library(library: &Loaded) -> Result<Libcrypto, String> {
        // SAFETY: the functions have the signatures of OpenSSL's manual (section 3) and of its
        // headers, and the library is never unloaded.
        unsafe {
            let get0 = |name| library.symbol::<Get0>(name);
            Ok(Libcrypto {
                init: library.symbol("OPENSSL_init_crypto")?,
                version: library.symbol("OpenSSL_version")?,
                public: library.symbol("RAND_bytes")?,
                private: library.symbol("RAND_priv_bytes")?,
                get0: [
                    get0("RAND_get0_primary")?,
                    get0("RAND_get0_public")?,
                    get0("RAND_get0_private")?,
                ],
                get0_rand: get0("EVP_RAND_CTX_get0_rand")?,
                rand_name: library.symbol("EVP_RAND_get0_name")?,
                rand_provider: get0("EVP_RAND_get0_provider")?,
                provider_name: library.symbol("OSSL_PROVIDER_get0_name")?,
                configuration: library.symbol("CONF_get1_default_config_file")?,
                new_context: library.symbol("OSSL_LIB_CTX_new")?,
                load_configuration: library.symbol("OSSL_LIB_CTX_load_config")?,
                load_provider: library.symbol("OSSL_PROVIDER_load")?,
                get_error: library.symbol("ERR_get_error_all")?,
                reason: library.symbol("ERR_reason_error_string")?,
            })
        }
    }

    pub fn version(&self) -> String {
        const FULL_NAME: c_int = 0;
        // SAFETY: any number is allowed.
        unsafe { text((self.version)(FULL_NAME)) }
    }

    /// The configuration file that OpenSSL reads if nothing names another one.
    pub fn configuration(&self) -> String {
        // SAFETY: it returns a new string or null; the string is never freed.
        unsafe { text((self.configuration)()) }
    }

    /// Draws 32 bytes from a generator that serves programs.
    ///
    /// # Errors
    /// OpenSSL's error.
    pub fn draw(&self, role: Role) -> Result<(), String> {
        let fill = match role {
            Role::Private => self.private,
            _ => self.public,
        };
        let mut bytes = [0u8; 32];
        // SAFETY: the bytes are writable for their length.
        match unsafe { fill(bytes.as_mut_ptr(), bytes.len() as c_int) } {
            1 => Ok(()),
            _ => Err(self.errors()),
        }
    }

    /// The generator in a role.
    ///
    /// # Errors
    /// There is no such generator; the text is OpenSSL's error.
    pub fn generator(&self, role: Role) -> Result<Generator, String> {
        // SAFETY: null is the default context. The results belong to the library, and live as long as
        // this thread and its generators.
        unsafe {
            let context = self.get0[role as usize](ptr::null_mut());
            if context.is_null() {
                return Err(self.errors());
            }
            let rand = (self.get0_rand)(context);
            let provider = (self.rand_provider)(rand);
            Ok(Generator {
                name: text((self.rand_name)(rand)),
                provider: text((self.provider_name)(provider)),
            })
        }
    }

    /// Loads the provider at `path`; OpenSSL ignores such an error when it reads its configuration.
    ///
    /// # Errors
    /// OpenSSL's error.
    pub fn load_provider(&self, path: &str) -> Result<(), String> {
        let path = CString::new(path).map_err(|error| error.to_string())?;
        self.take_errors();
        // SAFETY: null is the default context; the name ends with a null byte.
        let provider = unsafe { (self.load_provider)(ptr::null_mut(), path.as_ptr()) };
        if provider.is_null() {
            Err(self.errors())
        } else {
            Ok(())
        }
    }

    /// Reads the configuration in `file` again, and reports every error in it.
    ///
    /// # Errors
    /// OpenSSL's error.
    pub fn load_configuration(&self, file: &str) -> Result<(), String> {
        let file = CString::new(file).map_err(|error| error.to_string())?;
        self.take_errors();
        // SAFETY: the context is new and never freed; the name ends with a null byte.
        match unsafe { (self.load_configuration)((self.new_context)(), file.as_ptr()) } {
            1 => Ok(()),
            _ => Err(self.errors()),
        }
    }

    fn errors(&self) -> String {
        match &self.take_errors()[..] {
            [] => "OpenSSL does not say why".into(),
            errors => errors.join(", "),
        }
    }

    /// Takes all errors from OpenSSL's queue, oldest first.
    fn take_errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        loop {
            let (mut line, mut flags) = (0, 0);
            let (mut file, mut function, mut data) = (ptr::null(), ptr::null(), ptr::null());
            // SAFETY: all of them are writable; the returned strings are valid until the next error.
            let error = unsafe {
                let (file, function) = (&raw mut file, &raw mut function);
                let code = (self.get_error)(file, &mut line, function, &mut data, &mut flags);
                if code == 0 {
                    break;
                }
                (text((self.reason)(code)), text(data))
            };
            errors.push(match error {
                (reason, data) if data.is_empty() => reason,
                (reason, data) => format!("{reason} ({data})"),
            });
        }
        errors.dedup();
        errors
    }
}
