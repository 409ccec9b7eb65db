//! Counts requests and bytes in a file that processes map, separately for each interface. An interface is one of
//! the ways in which programs reach squall; [`Interface`] lists them.
//!
//! Nothing is counted unless the environment variable [`VARIABLE`] names a file: one made by
//! [`create`], or a new one, which the first process makes for its owner alone. Then every process that
//! uses an interface adds to that file, as do its children and the programs that it starts; the counts of
//! killed processes stay. As with the loader's variables, a program with more rights than its caller
//! ignores the variable.
//!
//! Counting costs a comparison when it is off, and about five nanoseconds when it is on. Threads add
//! to different cache lines if their stacks lie far enough apart.

mod file;
mod layout;
mod shared;

pub use file::{Total, Totals, create, read};
pub use layout::Interface;
pub use shared::{attach, forwarded, served};

/// The environment variable with the path of the file to count in.
pub const VARIABLE: &str = "SQUALL_COUNTERS";
