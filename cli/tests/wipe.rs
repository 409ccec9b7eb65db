//! Tests `squall wipe` and `squall verify` as a user runs them, on files and on real loop devices.

pub mod blank;
pub mod contents;
pub mod errors;
pub mod interrupted;
pub mod listed;
pub mod loops;
pub mod reports;
pub mod signals;
pub mod terminal;
pub mod then;
pub mod verified;
mod workspace;
