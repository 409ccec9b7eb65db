//! Existing programs with squall: the commands `squall run` and `squall openssl-conf`.
//!
//! - [`run`]: a program with libsquall-preload.so before it, or one line that says why it would not
//!   be reached.
//! - [`openssl_conf`]: the lines that make OpenSSL draw from squall, and whether they took effect.

pub mod args;
#[allow(unsafe_code, reason = "OpenSSL is loaded and called")]
mod openssl;
mod preload;
mod program;

pub use openssl::openssl_conf;
pub use preload::run;
