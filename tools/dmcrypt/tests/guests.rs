//! Tests `squall dmcrypt` on a real kernel, and checks what these tests rely on.

pub mod authenticated;
pub mod backing;
pub mod bench;
pub mod killed;
pub mod list;
pub mod recommended;
pub mod refusals;
pub mod workspace;
