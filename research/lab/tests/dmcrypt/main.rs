//! `squall dmcrypt` on a real kernel, and what these tests presume of it.

mod bench;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "of other tests")]
mod common;
mod gone;
mod ground;
mod list;
mod recommended;
mod refusals;
mod world;
