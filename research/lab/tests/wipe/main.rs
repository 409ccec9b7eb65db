//! Tests `squall wipe` on a real kernel with drives that refuse, corrupt, slow down, hang or vanish,
//! with power cuts, and with drives that are in use.
//!
//! Each scenario has a control: the same without the fault, which must end differently.

mod becoming_slow;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "of other tests")]
mod common;
mod power;
mod refused;
mod slow;
mod used;
mod vanished;
mod workspace;
