//! Tools that the tests of several crates share.
//!
//! - [`loops`]: loop devices, mounts and swap, undone on drop.
//! - [`artifacts`]: squall's libraries and command, built and installed once.
//! - [`workspace`]: a folder in which programs run with or without squall, and its counters.
//! - [`server`]: server processes that end with their owner.
//! - [`programs`]: Chromium, Python, OpenSSL, SSH, nginx and PostgreSQL.
//! - [`browser`]: pages opened in Chromium.
//! - [`suite`]: integration tests that declare what they need of the machine.
//! - [`needs`]: needs that several crates share.
//! - [`compiler`]: compiles C programs.
//! - [`refuse`]: makes system calls fail.
//! - [`schema`]: checks schemas against the data they describe.
//!
//! The program `programs` measures how squall changes the speed of real programs.

pub mod artifacts;
pub mod browser;
pub mod compiler;
pub mod loops;
pub mod needs;
pub mod programs;
pub mod refuse;
pub mod runs;
pub mod schema;
pub mod server;
pub mod suite;
pub mod workspace;

/// The examples of the guide to Rust are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/rust.md")]
struct RustGuide;
