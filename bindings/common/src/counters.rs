//! How much went through which door, counted in a file that processes map.
//!
//! Nothing is counted unless the environment variable [`VARIABLE`] names a file that was made for
//! it ([`create`]); then every process that has one of the doors adds to it, children and
//! programs that they start included, and what a process that was killed had counted stays. The
//! loader's rule holds: a program that runs with more rights than its caller does not look at the
//! variable.
//!
//! Counting costs a comparison when it is off, and some five nanoseconds when it is on: threads
//! add to different cache lines, as far as their stacks lie apart.

mod file;
mod layout;
mod shared;

pub use file::{Total, Totals, create, read};
pub use layout::Door;
pub use shared::{attach, forwarded, served};

/// Names the file to count in.
pub const VARIABLE: &str = "SQUALL_COUNTERS";
