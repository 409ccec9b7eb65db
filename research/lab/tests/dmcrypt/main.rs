//! Tests `squall dmcrypt` on a real kernel, and checks what these tests rely on.

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
