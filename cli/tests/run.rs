//! `squall run`: real programs under the real library, and those that it refuses.

pub mod installed;
pub mod passed;
pub mod reached;
pub mod refused;
pub mod search;
pub mod secure;
mod workspace;
