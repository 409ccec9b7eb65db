//! OpenSSL's RAND_bytes and its ciphers through EVP, loaded at run time and never linked.
//!
//! Buffers are encrypted in place. They hold zeros at the first call only, so that OpenSSL is
//! not charged for clearing them: the most favourable way to have a keystream of it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use squall_tool_base::loaded::{Loaded, text};
use squall_tool_base::places::{self, PROVIDER};

use super::{Entry, Opened, RunsIn, Setting, filled_by, in_process};
use crate::report::model::Group;
use crate::sources::Draw;

const NAMES: [&str; 3] = ["libcrypto.so.3", "libcrypto.so.4", "libcrypto.so"];

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "openssl-rand",
    title: "OpenSSL RAND_bytes",
    group: Group::Library,
    caveat: "a VM clone repeats it",
    explained: "RAND_bytes of libcrypto as it is installed: CTR_DRBG with AES-256, reseeded in a \
                forked child, not in a clone",
    open: || rand(&load()?),
    ..Entry::DEFAULT
}];

#[rustfmt::skip]
pub(super) const KEYSTREAMS: &[Entry] = &[
    keystream("openssl-aes128-ctr", "OpenSSL AES-128-CTR", || evp("EVP_aes_128_ctr")),
    keystream("openssl-aes256-ctr", "OpenSSL AES-256-CTR", || evp("EVP_aes_256_ctr")),
    keystream("openssl-chacha20", "OpenSSL ChaCha20", || evp("EVP_chacha20")),
    Entry {
        name: "openssl-aes128-ctr-noaes",
        title: "OpenSSL AES-128-CTR, no AES instructions",
        explained: "EVP_EncryptUpdate of libcrypto as it is installed, in place, in a process of \
                    its own that hides AES and PCLMUL instructions from it (OPENSSL_ia32cap)",
        runs_in: RunsIn::OwnProcess(Setting::Variable("OPENSSL_ia32cap", WITHOUT_AES)),
        ..keystream("", "", || evp("EVP_aes_128_ctr"))
    },
];

const fn keystream(name: &'static str, title: &'static str, open: fn() -> Opened) -> Entry {
    Entry {
        name,
        title,
        caveat: "the same key, the same bytes",
        explained: "EVP_EncryptUpdate of libcrypto as it is installed, in place",
        open,
        ..Entry::DEFAULT
    }
}

/// OPENSSL_ia32cap(3): all that there is but AES-NI (bit 57) and PCLMULQDQ (bit 33).
const WITHOUT_AES: &str = "~0x200000200000000";

type Pointer = *mut c_void;
type Text = *const c_char;

fn load() -> Result<Loaded, String> {
    // SAFETY: libcrypto may be loaded at any time.
    unsafe { Loaded::first_of(&NAMES) }
}

/// The version of libcrypto, as it reports it, which loads it.
pub fn version() -> Option<String> {
    const OPENSSL_VERSION: c_int = 0;
    // SAFETY: OpenSSL_version returns a string that is never freed.
    let text = unsafe {
        let version: unsafe extern "C" fn(c_int) -> Text =
            load().ok()?.symbol("OpenSSL_version").ok()?;
        text(version(OPENSSL_VERSION))
    };
    Some(text.trim_start_matches("OpenSSL ").to_owned())
}

/// RAND_bytes.
fn rand(library: &Loaded) -> Opened {
    type RandBytes = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
    // SAFETY: the signature is that of RAND_bytes(3).
    let rand_bytes: RandBytes = unsafe { library.symbol("RAND_bytes") }?;
    filled_by(move |out| {
        let len = c_int::try_from(out.len()).expect("RAND_bytes takes less than 2 GiB");
        // SAFETY: `out` is writable for its length.
        let status = unsafe { rand_bytes(out.as_mut_ptr(), len) };
        assert!(status == 1, "RAND_bytes failed");
    })
}

/// RAND_bytes of a process whose generators are squall's, if it has not drawn yet.
pub fn open_with_squall() -> Opened {
    let library = load()?;
    let provider = places::find(PROVIDER, None).map_err(squall_tool_base::Failure::into_text)?;
    let folder = provider.parent().unwrap_or(Path::new("/"));
    let [folder, name] = [Some(folder.as_os_str()), provider.file_stem()].map(|text| {
        let text = text.unwrap_or_default().as_encoded_bytes();
        CString::new(text).expect("a path has no null bytes")
    });
    if use_provider(&library, &folder, &name)? {
        rand(&library)
    } else {
        Err("OpenSSL does not load squall's provider".into())
    }
}

/// Has RAND_bytes draw from the generator of the provider `name` in `folder`: whether it does.
fn use_provider(library: &Loaded, folder: &CStr, name: &CStr) -> Result<bool, String> {
    type SearchPath = unsafe extern "C" fn(Pointer, Text) -> c_int;
    type Load = unsafe extern "C" fn(Pointer, Text) -> Pointer;
    type SetType = unsafe extern "C" fn(Pointer, Text, Text, Text, Text) -> c_int;
    const NONE: Pointer = ptr::null_mut();
    const NO_TEXT: Text = ptr::null();
    // SAFETY: the signatures are those of OSSL_PROVIDER(3) and RAND_set_DRBG_type(3), which take
    // null for their defaults; the strings end with null bytes, and are copied.
    unsafe {
        let search: SearchPath = library.symbol("OSSL_PROVIDER_set_default_search_path")?;
        let load: Load = library.symbol("OSSL_PROVIDER_load")?;
        let set_type: SetType = library.symbol("RAND_set_DRBG_type")?;
        Ok(!load(NONE, c"default".as_ptr()).is_null()
            && search(NONE, folder.as_ptr()) == 1
            && !load(NONE, name.as_ptr()).is_null()
            && set_type(NONE, c"SQUALL".as_ptr(), NO_TEXT, NO_TEXT, NO_TEXT) == 1)
    }
}

/// A cipher with a key, encrypting.
struct Evp {
    context: Pointer,
    update: unsafe extern "C" fn(Pointer, *mut u8, *mut c_int, *const u8, c_int) -> c_int,
    free: unsafe extern "C" fn(Pointer),
}

/// The cipher that OpenSSL's function `constructor` names, with a key.
fn evp(constructor: &str) -> Opened {
    type New = unsafe extern "C" fn() -> Pointer;
    type Init = unsafe extern "C" fn(Pointer, Pointer, Pointer, *const u8, *const u8) -> c_int;
    let library = load()?;
    let (key, nonce) = ([0u8; 32], [0u8; 16]);
    // SAFETY: the signatures are those of OpenSSL's documentation; the key and the nonce are as
    // long as the longest of these ciphers reads.
    let (evp, status) = unsafe {
        let cipher: New = library.symbol(constructor)?;
        let new_context: New = library.symbol("EVP_CIPHER_CTX_new")?;
        let init: Init = library.symbol("EVP_EncryptInit_ex")?;
        let evp = Evp {
            update: library.symbol("EVP_EncryptUpdate")?,
            free: library.symbol("EVP_CIPHER_CTX_free")?,
            context: new_context(),
        };
        let (key, nonce) = (key.as_ptr(), nonce.as_ptr());
        let status = init(evp.context, cipher(), ptr::null_mut(), key, nonce);
        (evp, status)
    };
    match status {
        1 => in_process(evp),
        _ => Err(format!("libcrypto refuses {constructor}")),
    }
}

impl Draw for Evp {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        let len = c_int::try_from(out.len()).expect("EVP takes less than 2 GiB");
        let (at, mut written) = (out.as_mut_ptr(), 0);
        // SAFETY: the context is keyed; EVP allows the input to be the output.
        let status = unsafe { (self.update)(self.context, at, &mut written, at, len) };
        assert!(status == 1 && written == len, "EVP_EncryptUpdate failed");
    }
}

impl Drop for Evp {
    fn drop(&mut self) {
        // SAFETY: the context came from EVP_CIPHER_CTX_new and is freed once.
        unsafe { (self.free)(self.context) };
    }
}
