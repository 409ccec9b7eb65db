//! What takes new processes to measure: the first bytes of one, forks, and blocks through a pipe.
//!
//! This program is its own child: run as `squall bench` with an environment variable
//! (`SQUALL_BENCH_CHILD`; no argument, as it is no part of the command's interface), it does one of
//! these things and ends. A program that measures asks [`this_process`] first, and serves if it is
//! one.
//!
//! Everything is measured in lanes ([`squall_tools::measure::lanes`]), which the caller runs in turns.

mod child;
pub mod first_bytes;
pub mod forks;
pub mod pipe;
mod programs;
mod repeats;

pub use child::{Child, Fill, Lookup, NOTHING, PROGRAM, serve, this_process};
pub use repeats::repeats_in_child;
