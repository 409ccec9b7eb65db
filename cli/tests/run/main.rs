//! `squall run`: real programs under the real library, and those that it refuses.
//!
//! What takes root, a C compiler or another tool that is not there is printed as SKIP.

#[path = "../common/mod.rs"]
mod common;

mod installed;
mod passed;
mod reached;
mod refused;
mod search;
mod secure;
mod world;
