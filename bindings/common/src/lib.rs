//! Code that squall's interfaces share. The interfaces are the libraries through which C programs, existing
//! programs, OpenSSL and Rust's crates reach the generator.
//!
//! - [`counters`]: counts of requests and bytes for each interface, in a file that anyone may watch.
//! - [`facts`]: the status of `squall::status`, with names for programs.
//! - [`request`]: which requests of getrandom(2) squall may serve in the kernel's place.
//!
//! Code that runs on a request takes no lock and allocates nothing, so it is safe in signal handlers,
//! within `malloc`, and before constructors.

pub mod counters;
#[cfg(feature = "serde")]
pub mod facts;
pub mod request;
