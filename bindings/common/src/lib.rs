//! Code that squall's doors share. The doors are the libraries through which C programs, existing
//! programs and OpenSSL reach the generator.
//!
//! - [`counters`]: counts of requests and bytes for each door, in a file that anyone may watch.
//! - [`facts`]: the status of `squall::status`, with names for programs.
//! - [`uniform`]: unbiased numbers below a bound.
//!
//! Code that runs on a request takes no lock and allocates nothing, so it is safe in signal handlers,
//! within `malloc`, and before constructors.

pub mod counters;
pub mod facts;
pub mod uniform;
