//! Finds, checks, confirms and opens the drives that squall overwrites.
//!
//! [`Target`] identifies what a name on the command line stands for. [`guards`] refuses targets
//! that are in use, and [`confirm`] asks the user about the rest. [`io`] opens a target exclusively
//! and keeps several transfers in flight; `states` sees to this order. `commands` asks a target about
//! itself, and [`erase`] has it erase itself. [`list`] is `squall drives`. This crate does not know what is written, or why: the caller's
//! [`Purpose`] completes the messages.

#![deny(unsafe_code)]

mod commands;
pub mod confirm;
pub mod erase;
pub mod guards;
mod health;
mod hidden;
mod identity;
pub mod io;
pub mod list;
pub mod mapper;
mod printable;
mod standby;
mod states;
mod storage;
mod target;

pub use confirm::Purpose;
pub use health::Health;
pub use hidden::Hidden;
pub use identity::{Identity, Kind, Likeness};
pub use states::{Checked, Confirmed, StandingConsent};
pub use storage::Storage;
pub use target::device::Number;
pub use target::{Target, shown};
