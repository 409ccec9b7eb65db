//! What the tests of several crates share.
//!
//! - [`loops`]: loop devices, mounts and swap, undone when they are dropped.
//! - [`doors`]: squall's libraries, built and installed as a user has them, once.
//! - [`workspace`]: a folder in which programs run with squall or without, and their counters.
//! - [`server`]: programs that wait for others, and end with their owner.
//! - [`programs`]: Chromium, Python, OpenSSL, SSH, nginx, PostgreSQL, and what each is made to do.
//! - [`browser`]: pages opened in Chromium.
//! - [`suite`]: integration tests that say what they need of the machine.
//! - [`needs`]: what tests of several crates need.
//! - [`compiler`]: programs in C that tests run.
//! - [`refuse`]: system calls that fail.
//! - [`schema`]: published schemas, checked against what they describe.
//!
//! The program `programs` measures what squall changes for the real programs.

pub mod browser;
pub mod compiler;
pub mod doors;
pub mod loops;
pub mod needs;
pub mod programs;
pub mod refuse;
pub mod schema;
pub mod server;
pub mod suite;
pub mod workspace;
