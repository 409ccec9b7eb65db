//! `squall wipe` and `squall verify` as a user runs them, on files and on real loop devices.
//!
//! Loop devices take root. What cannot run is printed as SKIP; where SQUALL_REQUIRE_LOOP is set
//! that is a failure.

#[path = "../common/mod.rs"]
mod common;
mod contents;
mod errors;
mod interrupted;
mod limits;
mod loops;
mod reports;
mod verified;
mod world;
