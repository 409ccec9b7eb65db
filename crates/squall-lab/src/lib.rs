//! The lab: models of old random number generators, attacks on them, and what accumulators cost.
//!
//! Nothing here is a source of randomness, and nothing of it is in the `squall` library.

#![deny(unsafe_code)]

pub mod args;
pub mod attack;
pub mod cost;
pub mod legacy;
