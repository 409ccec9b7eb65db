//! The deterministic generators, which turn a seed into bytes and erase each key after use.
//!
//! Both are backtracking resistant: the state after a request does not reveal what the request
//! returned. Neither knows where seeds come from or when to ask for one.

mod ctr_drbg;
mod fast_key_erasure;

pub use ctr_drbg::{CtrDrbg, MAX_REQUEST};
pub use fast_key_erasure::FastKeyErasure;
