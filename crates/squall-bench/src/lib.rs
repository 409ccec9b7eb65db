//! `squall bench`: every source of randomness on this machine, side by side.

pub mod report;
pub mod source;
