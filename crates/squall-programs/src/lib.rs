//! Real programs with squall.
//!
//! [`doors`]: what programs load, built and installed as a user has it, once.

pub mod doors;
