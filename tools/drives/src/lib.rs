//! Drives that are to be overwritten: what a name on the command line is, whether it is in use,
//! whether it is meant, and how transfers reach it.
//!
//! [`Target`] says what a name is, [`guards`] whether it may be overwritten, and [`confirm`] whether
//! it is meant. [`io`] opens it, exclusively, and has several transfers in flight. Nothing here
//! knows what it is overwritten with, or why: messages are told by a [`Purpose`].

#![deny(unsafe_code)]

pub mod confirm;
pub mod guards;
mod identity;
pub mod io;
mod purpose;
mod target;

pub use identity::{Identity, Kind};
pub use purpose::Purpose;
pub use target::device::Number;
pub use target::{Target, shown};
