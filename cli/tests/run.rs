//! `squall run`: real programs with the installed library, and programs that it refuses.

pub mod installed;
pub mod passed;
pub mod reached;
pub mod refused;
pub mod search;
pub mod secure;
mod workspace;
