//! Real programs with squall.
//!
//! - [`doors`]: what programs load, built and installed as a user has it, once.
//! - [`world`]: a folder in which programs run: with a door or without, and their counters.
//! - [`server`]: programs that wait for others, and end with their owner.
//! - [`programs`]: Chromium, Python, OpenSSL, SSH, nginx, PostgreSQL, and what each is made to do.
//!
//! The tests ask whether squall served and whether all is as it was; the program `programs`
//! measures what it changes.

pub mod doors;
pub mod programs;
pub mod server;
pub mod world;
