//! Runs existing programs with squall: the commands `squall run` and `squall openssl-conf`.
//!
//! - [`run`] executes a program with libsquall-preload.so, or says why that would have no effect.
//! - [`openssl_conf`] prints the configuration that makes OpenSSL use squall, or checks it.

pub mod args;
#[allow(unsafe_code, reason = "OpenSSL is loaded and called")]
mod openssl;
mod preload;
mod program;
mod python;
mod search;

pub use openssl::openssl_conf;
pub use preload::run;
