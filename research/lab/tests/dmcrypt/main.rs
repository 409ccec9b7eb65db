//! `squall dmcrypt` on a real kernel, and what these tests presume of it.

mod backing;
mod bench;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "of other tests")]
mod common;
mod gone;
mod list;
mod recommended;
mod refusals;
mod workspace;
