//! OpenSSL's libcrypto, loaded at run time and never unloaded.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::ptr;

use squall_tool_base::loaded::{Loaded, text};

/// The names of the versions that have providers.
const NAMES: [&str; 2] = ["libcrypto.so.3", "libcrypto.so.4"];

type Pointer = *mut c_void;
type Text = *const c_char;
type Get0 = unsafe extern "C" fn(Pointer) -> Pointer;
type GetText = unsafe extern "C" fn(Pointer) -> Text;

/// The role of a generator in OpenSSL.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// The parent of the other generators.
    Primary,
    /// The generator of RAND_bytes.
    Public,
    /// The generator of RAND_priv_bytes, for secrets.
    Private,
}

/// The libcrypto that programs use, loaded. Its methods fail with OpenSSL's own errors.
pub struct Libcrypto(Loaded);

impl Libcrypto {
    /// Loads libcrypto, and lets it read its configuration as programs do.
    /// Fails if it is not installed, or older than OpenSSL 3.
    pub fn load() -> Result<Libcrypto, String> {
        type Init = unsafe extern "C" fn(u64, Pointer) -> c_int;
        const INIT_LOAD_CONFIG: u64 = 0x40;
        // SAFETY: libcrypto may be loaded at any time. Null settings are allowed. A later draw shows whether this
        // succeeded.
        unsafe {
            let libcrypto = Libcrypto(Loaded::first_of(&NAMES)?);
            // OpenSSL has had all functions that are called here since 3.0, which brought this one.
            libcrypto.0.symbol::<Get0>("ERR_get_error_all")?;
            libcrypto.function::<Init>("OPENSSL_init_crypto")(INIT_LOAD_CONFIG, ptr::null_mut());
            Ok(libcrypto)
        }
    }

    /// A function of OpenSSL 3.0 and later, which is never unloaded.
    ///
    /// # Safety
    /// `F` is its signature in OpenSSL's manual (section 3) and headers.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller's promise.
        let function = unsafe { self.0.symbol(name) };
        function.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn version(&self) -> String {
        type Version = unsafe extern "C" fn(c_int) -> Text;
        const FULL_NAME: c_int = 0;
        // SAFETY: any number is allowed.
        unsafe { text(self.function::<Version>("OpenSSL_version")(FULL_NAME)) }
    }

    /// The configuration file that OpenSSL reads if nothing names another one.
    pub fn configuration(&self) -> String {
        type Configuration = unsafe extern "C" fn() -> *mut c_char;
        // SAFETY: it returns a new string or null; the string is never freed.
        unsafe {
            text(self
                .function::<Configuration>("CONF_get1_default_config_file")(
            ))
        }
    }

    /// Draws 32 bytes from a generator that serves programs.
    pub fn draw(&self, role: Role) -> Result<(), String> {
        type Fill = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
        let name = match role {
            Role::Private => "RAND_priv_bytes",
            _ => "RAND_bytes",
        };
        let mut bytes = [0u8; 32];
        // SAFETY: the bytes are writable for their length.
        match unsafe { self.function::<Fill>(name)(bytes.as_mut_ptr(), bytes.len() as c_int) } {
            1 => Ok(()),
            _ => Err(self.errors()),
        }
    }

    /// The name of the generator in a role, and that of its provider.
    pub fn generator(&self, role: Role) -> Result<[String; 2], String> {
        let get0 = match role {
            Role::Primary => "RAND_get0_primary",
            Role::Public => "RAND_get0_public",
            Role::Private => "RAND_get0_private",
        };
        // SAFETY: null is the default context. The results belong to the library, and live as long as
        // this thread and its generators.
        unsafe {
            let context = self.function::<Get0>(get0)(ptr::null_mut());
            if context.is_null() {
                return Err(self.errors());
            }
            let rand = self.function::<Get0>("EVP_RAND_CTX_get0_rand")(context);
            let provider = self.function::<Get0>("EVP_RAND_get0_provider")(rand);
            Ok([
                text(self.function::<GetText>("EVP_RAND_get0_name")(rand)),
                text(self.function::<GetText>("OSSL_PROVIDER_get0_name")(
                    provider,
                )),
            ])
        }
    }

    /// Loads the provider at `path`; OpenSSL ignores such an error when it reads its configuration.
    pub fn load_provider(&self, path: &str) -> Result<(), String> {
        type Load = unsafe extern "C" fn(Pointer, Text) -> Pointer;
        let path = CString::new(path).map_err(|error| error.to_string())?;
        self.take_errors();
        // SAFETY: null is the default context; the name ends with a null byte.
        let provider =
            unsafe { self.function::<Load>("OSSL_PROVIDER_load")(ptr::null_mut(), path.as_ptr()) };
        match provider.is_null() {
            true => Err(self.errors()),
            false => Ok(()),
        }
    }

    /// Reads the configuration in `file` again, and reports every error in it.
    pub fn load_configuration(&self, file: &str) -> Result<(), String> {
        type New = unsafe extern "C" fn() -> Pointer;
        type Load = unsafe extern "C" fn(Pointer, Text) -> c_int;
        let file = CString::new(file).map_err(|error| error.to_string())?;
        self.take_errors();
        // SAFETY: the context is new and never freed; the name ends with a null byte.
        let status = unsafe {
            let context = self.function::<New>("OSSL_LIB_CTX_new")();
            self.function::<Load>("OSSL_LIB_CTX_load_config")(context, file.as_ptr())
        };
        match status {
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
        type GetError = unsafe extern "C" fn(
            *mut Text,
            *mut c_int,
            *mut Text,
            *mut Text,
            *mut c_int,
        ) -> c_ulong;
        type Reason = unsafe extern "C" fn(c_ulong) -> Text;
        let mut errors = Vec::new();
        loop {
            let (mut line, mut flags) = (0, 0);
            let (mut file, mut function, mut data) = (ptr::null(), ptr::null(), ptr::null());
            // SAFETY: all of them are writable; the returned strings are valid until the next error.
            let error = unsafe {
                let get_error = self.function::<GetError>("ERR_get_error_all");
                let (file, function) = (&raw mut file, &raw mut function);
                let code = get_error(file, &mut line, function, &mut data, &mut flags);
                if code == 0 {
                    break;
                }
                (
                    text(self.function::<Reason>("ERR_reason_error_string")(code)),
                    text(data),
                )
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
