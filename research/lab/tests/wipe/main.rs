//! `squall wipe` on a real kernel: drives that refuse, corrupt, slow down, hang and vanish, power
//! cuts, and what uses drives.
//!
//! Each scenario has a control: the same without the fault, which must end otherwise.

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
