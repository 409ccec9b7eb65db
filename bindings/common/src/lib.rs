//! What squall's doors share: the libraries through which C programs, existing programs and
//! OpenSSL reach the generator.
//!
//! - [`counters`]: how much went through which door, in a file that its reader need not ask for.
//! - [`facts`]: what `squall::status` says, as names for programs.
//! - [`uniform`]: unbiased numbers below a bound.
//!
//! What runs on a request is safe in signal handlers, within `malloc`, and before constructors: no
//! lock, no allocation.

pub mod counters;
pub mod facts;
pub mod uniform;
