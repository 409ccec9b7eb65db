//! Statistical checks of a stream: tests of its own, and the batteries that are installed.
//!
//! They find generators that are broken, and say nothing of security: a keystream whose key
//! everybody knows passes all of them. How often a good source fails is stated and measured:
//! [`FALSE_ALARM`].

mod bytes;
mod examination;
mod findings;
mod positions;
mod rank;
mod repeats;
mod table;

pub mod battery;

pub use examination::{Examination, FEWEST};
pub use findings::{FALSE_ALARM, Findings, Test};
pub use table::table;
